import math
import re
import shutil

import pytest
import torch
from kernel_cases import CASES, PACKED_KERNELS, PLAIN_KERNELS, Case, make_case

from gemlite_edu import load, pack_warped_int32, quantize_linear
from gemlite_edu.reference import error_bound, matmul

PACKED = PACKED_KERNELS[0]
COALESCED = "gemv_a16w16_coalesced"
ALL_KERNELS = [*PACKED_KERNELS, *PLAIN_KERNELS]
STAGING_KERNELS = [*PACKED_KERNELS, "gemv_a16w16_shared"]

ONE_CASE_PER_BUILD = {(case.variant, case.x_dtype): case for case in CASES}.values()


def example(kernel, N=5, K=300, M=2, per_row=True):
    nbits = 4 if kernel in PACKED_KERNELS else None
    return Case((kernel, nbits), torch.float16, N, K, M, per_row)


def load_for(case, **options):
    return load(case.kernel, nbits=case.nbits, x_dtype=case.x_dtype, **options)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_inputs_match_bit_for_bit(case):
    inputs = make_case(case)
    y = load_for(case)(*inputs.operands())
    assert y.dtype == case.x_dtype
    assert torch.equal(y, inputs.expected.to(case.x_dtype))


@pytest.mark.parametrize("case", ONE_CASE_PER_BUILD, ids=str)
def test_random_inputs_stay_within_the_error_bound(case):
    inputs = make_case(case, exact=False)
    y = load_for(case)(*inputs.operands())
    bound = error_bound(inputs.x, inputs.W_real, case.x_dtype)
    assert ((y.double() - inputs.expected).abs() <= bound).all()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_tensor", [False, True])
def test_quantized_weights_multiply_as_their_dequantization(per_tensor, symmetric):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 1000, generator=generator).half()
    W = torch.randn(33, 1000, generator=generator)
    q = quantize_linear(W, 3, per_tensor=per_tensor, symmetric=symmetric)
    y = load(PACKED, nbits=3)(x, pack_warped_int32(q.W_q, 3), q.scales, q.zeros)
    W_real = q.dequantize(torch.float64)
    assert ((y.double() - matmul(x, W_real)).abs() <= error_bound(x, W_real, y.dtype)).all()


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_call_leaves_its_inputs_alone_and_repeats(kernel):
    case = example(kernel)
    operands = make_case(case, exact=False).operands()
    before = [operand.clone() for operand in operands]
    run = load_for(case)
    first, second = run(*operands), run(*operands)
    assert torch.equal(first, second)
    assert all(map(torch.equal, operands, before))


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_strided_operands_count_as_their_copies(kernel):
    case = example(kernel, M=3)
    inputs = make_case(case)
    strided = [operand.T.contiguous().T for operand in inputs.operands()]
    assert not strided[0].is_contiguous()
    expected = inputs.expected.half()
    assert torch.equal(load_for(case)(*strided), expected)
    every_other_column = torch.stack([inputs.x, -inputs.x], dim=-1).flatten(1)[:, ::2]
    assert torch.equal(load_for(case)(every_other_column, *inputs.operands()[1:]), expected)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_out_receives_the_result(kernel):
    case = example(kernel)
    inputs = make_case(case)
    out = torch.full((case.M, case.N), math.nan).half()
    y = load_for(case)(*inputs.operands(), out=out)
    assert y is out
    assert torch.equal(out, inputs.expected.half())


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_no_rows_give_no_rows(kernel):
    case = example(kernel)
    x, *weights = make_case(case).operands()
    y = load_for(case)(x[:0], *weights)
    assert (y.shape, y.dtype) == ((0, case.N), torch.float16)


def test_a_number_may_stand_beside_a_tensor():
    case = example(PACKED)
    x, W, scales, zeros = make_case(case, exact=False).operands()
    same = torch.full((case.N, 1), 0.75)
    run = load_for(case)
    assert torch.equal(run(x, W, 0.75, zeros), run(x, W, same, zeros))
    assert torch.equal(run(x, W, scales, 0.75), run(x, W, scales, same))


def test_integer_numbers_are_numbers():
    inputs = make_case(example(PACKED))
    run = load(PACKED, nbits=4)
    assert torch.equal(run(inputs.x, inputs.W, 2, 8), run(inputs.x, inputs.W, 2.0, 8.0))


def test_rows_longer_than_shared_memory_suit_kernels_that_stage_nothing():
    case = example(COALESCED, N=2, K=200_000, M=1)
    x = torch.zeros(1, case.K).half()
    x[0, ::999] = 1
    W = torch.ones(2, case.K).half()
    W[1, -1] = 5
    assert load_for(case)(x, W).tolist() == matmul(x, W).tolist()


SAME_SIGNATURE = "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero)"

RIGHT_TEXT = """
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
"""

MISTAKES = {
    "zero forgotten": ("(code - zero)", "(code + 0.0f)"),
    "first code lowest": ("32 - W_NBITS * (j + 1)", "W_NBITS * j"),
    "neighbours in x": ("x[j * WARP_SIZE]", "x[j]"),
    "last code skipped": ("j < PACK_FACTOR", "j < PACK_FACTOR - 1"),
    "mask forgotten": (" & CODE_MASK", ""),
}


def dequant_dot(body):
    return {"dequant_dot": SAME_SIGNATURE + " {" + body + "}\n"}


def test_the_replaced_text_is_what_runs():
    case = example(PACKED)
    inputs = make_case(case)
    right = load_for(case, replace=dequant_dot(RIGHT_TEXT))
    assert torch.equal(right(*inputs.operands()), inputs.expected.half())
    constant = load_for(case, replace=dequant_dot("\n  return 0.0f;\n"))
    assert (constant(*inputs.operands()) == 0).all()


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_exact_inputs_reveal_a_mistake(mistake):
    case = example(PACKED)
    inputs = make_case(case)
    wrong = load_for(case, replace=dequant_dot(RIGHT_TEXT.replace(*mistake)))
    assert not torch.equal(wrong(*inputs.operands()), inputs.expected.half())


BROKEN_TEXT = "\n  float sum = 0.0f;\n  return sum + not_declared;\n"


def test_text_that_does_not_compile_is_quoted_with_its_line():
    with pytest.raises(ValueError) as caught:
        load(PACKED, nbits=4, replace=dequant_dot(BROKEN_TEXT), device="cpu")
    message = str(caught.value)
    assert re.search(r"\bline 3\b", message)
    assert "  return sum + not_declared;" in message
    assert len(message.splitlines()) == 2


def test_text_is_compiled_at_the_first_call_if_the_device_is_open():
    run = load(PACKED, nbits=4, replace=dequant_dot(BROKEN_TEXT))
    with pytest.raises(ValueError, match=r"\bline 3\b"):
        run(*make_case(example(PACKED)).operands())


def test_a_kernel_that_never_ends_is_stopped():
    endless = "\n  for (volatile int i = 0;; i = i + 1) {}\n  return 0.0f;\n"
    run = load(PACKED, nbits=4, replace=dequant_dot(endless), time_limit=0.3)
    with pytest.raises(RuntimeError, match=r"0\.3 s") as caught:
        run(*make_case(example(PACKED)).operands())
    assert "\n" not in str(caught.value)


BAD_LOADS = {
    "unknown kernel": (dict(name="gemv_a16w5"), ValueError, "gemv_a16w5"),
    "nbits missing": (dict(nbits=None), TypeError, "nbits"),
    "nbits 0": (dict(nbits=0), ValueError, "nbits.*0"),
    "nbits 9": (dict(nbits=9), ValueError, "nbits.*9"),
    "nbits True": (dict(nbits=True), TypeError, "nbits.*bool"),
    "nbits float": (dict(nbits=4.0), TypeError, "nbits.*float"),
    "nbits for plain weights": (dict(name=COALESCED), ValueError, f"{COALESCED}.*nbits"),
    "x_dtype float32": (dict(x_dtype=torch.float32), ValueError, "float32"),
    "x_dtype string": (dict(x_dtype="half"), ValueError, "half"),
    "unknown device": (dict(device="tpu"), ValueError, "tpu"),
    "unknown hole": (
        dict(replace={"dot": "__device__ float dot() { return 0.0f; }"}),
        ValueError,
        "no hole 'dot'.*dequant_dot",
    ),
    "misspelt hole": (
        dict(replace={"dequantdot": SAME_SIGNATURE + " { return 0.0f; }"}),
        ValueError,
        "no hole 'dequantdot'.*dequant_dot",
    ),
    "hole of another kernel": (
        dict(name=COALESCED, nbits=None, replace=dequant_dot("return 0.0f;")),
        ValueError,
        "no hole 'dequant_dot'",
    ),
    "text that is no string": (dict(replace={"dequant_dot": 3}), TypeError, "dequant_dot.*int"),
    "text without its hole": (dict(replace=SAME_SIGNATURE + "{}"), TypeError, "replace.*str"),
    "text without the function": (
        dict(replace={"dequant_dot": "float other() { return 0.0f; }"}),
        ValueError,
        "define.*dequant_dot",
    ),
}


@pytest.mark.parametrize("changed, error, named", BAD_LOADS.values(), ids=BAD_LOADS.keys())
def test_bad_load_is_named_in_one_sentence(changed, error, named):
    with pytest.raises(error, match=named) as caught:
        load(**dict(name=PACKED, nbits=4, device="cpu") | changed)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_asking_for_a_gpu_that_is_not_there_is_one_sentence():
    with pytest.raises((ValueError, RuntimeError), match="GPU|CUDA|cuda") as caught:
        load(PACKED, nbits=4, device="cuda")
    assert "\n" not in str(caught.value)


N, K, M = 5, 300, 2
X = torch.ones(M, K).half()
W_PACKED = torch.zeros(N, 64, dtype=torch.int32)
W_PLAIN = torch.ones(N, K).half()
ONES = torch.ones(N, 1)

BAD_PACKED_CALLS = {
    "x float32": (dict(x=X.float()), TypeError, "x .*float32"),
    "x bfloat16": (dict(x=X.bfloat16()), TypeError, "x .*bfloat16"),
    "x list": (dict(x=X.tolist()), TypeError, "x .*list"),
    "x of rank 1": (dict(x=X[0]), ValueError, r"x .*\(300,\)"),
    "x of rank 3": (dict(x=X[None]), ValueError, r"x .*\(1, 2, 300\)"),
    "x requires grad": (dict(x=X.clone().requires_grad_()), ValueError, "backward"),
    "W uint8": (dict(W=W_PACKED.to(torch.uint8)), TypeError, "W .*uint8"),
    "W int64": (dict(W=W_PACKED.long()), TypeError, "W .*int64"),
    "W unpacked": (dict(W=W_PLAIN), TypeError, "W .*float16"),
    "W of rank 1": (dict(W=W_PACKED[0]), ValueError, r"W .*\(64,\)"),
    "K under W's": (dict(x=X[:, :256]), ValueError, "K = 256.*64"),
    "K over W's": (dict(x=torch.ones(M, 513).half()), ValueError, "K = 513.*64"),
    "scales missing": (dict(scales=None), TypeError, "needs scales"),
    "zeros missing": (dict(zeros=None), TypeError, "needs zeros"),
    "scales of too few rows": (dict(scales=ONES[:4]), ValueError, r"scales.*\(4, 1\)"),
    "scales per group": (dict(scales=torch.ones(N, 2)), ValueError, r"scales.*\(5, 2\)"),
    "zeros per group": (dict(zeros=torch.ones(N, 2)), ValueError, r"zeros.*\(5, 2\)"),
    "scales transposed": (dict(scales=ONES.T), ValueError, r"scales.*\(1, 5\)"),
    "scales float16": (dict(scales=ONES.half()), TypeError, "scales.*float16"),
    "zeros uint8": (dict(zeros=ONES.to(torch.uint8)), TypeError, "zeros.*uint8"),
    "scales string": (dict(scales="1"), TypeError, "scales.*str"),
    "scales list": (dict(scales=[1.0] * N), TypeError, "scales.*list"),
    "scales True": (dict(scales=True), TypeError, "scales.*bool"),
}

BAD_PLAIN_CALLS = {
    "x float32": (dict(x=X.float()), TypeError, "x .*float32"),
    "x requires grad": (dict(x=X.clone().requires_grad_()), ValueError, "backward"),
    "W float32": (dict(W=W_PLAIN.float()), TypeError, "W .*float32"),
    "W bfloat16": (dict(W=W_PLAIN.bfloat16()), TypeError, "W .*bfloat16"),
    "W packed": (dict(W=W_PACKED), TypeError, "W .*int32"),
    "K under W's": (dict(x=X[:, :299]), ValueError, "K = 299.*300"),
    "scales": (dict(scales=ONES, zeros=ONES), ValueError, "scales"),
    "scales alone": (dict(scales=2.0), ValueError, "scales"),
    "zeros alone": (dict(zeros=ONES), ValueError, "zeros"),
    "out of the wrong shape": (dict(out=torch.empty(N, M).half()), ValueError, r"out.*\(5, 2\)"),
    "out of the wrong type": (dict(out=torch.empty(M, N)), (TypeError, ValueError), "out.*float32"),
}


@pytest.mark.parametrize(
    "changed, error, named", BAD_PACKED_CALLS.values(), ids=BAD_PACKED_CALLS.keys()
)
def test_bad_call_with_packed_weights_is_named_in_one_sentence(changed, error, named):
    operands = dict(x=X, W=W_PACKED, scales=ONES, zeros=ONES) | changed
    with pytest.raises(error, match=named) as caught:
        load(PACKED, nbits=4)(**operands)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kernel", PLAIN_KERNELS)
@pytest.mark.parametrize(
    "changed, error, named", BAD_PLAIN_CALLS.values(), ids=BAD_PLAIN_CALLS.keys()
)
def test_bad_call_with_plain_weights_is_named_in_one_sentence(kernel, changed, error, named):
    with pytest.raises(error, match=named) as caught:
        load(kernel)(**dict(x=X, W=W_PLAIN) | changed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kernel", STAGING_KERNELS)
def test_rows_longer_than_shared_memory_are_refused_in_one_sentence(kernel):
    case = example(kernel, N=1, K=200_000, M=1)
    operands = make_case(case, exact=False).operands()
    with pytest.raises(ValueError, match="200000.*shared memory") as caught:
        load_for(case)(*operands)
    assert "\n" not in str(caught.value)


def test_a_call_may_follow_one_that_failed():
    case = example(PACKED)
    inputs = make_case(case)
    run = load_for(case)
    with pytest.raises(TypeError):
        run(inputs.x.float(), *inputs.operands()[1:])
    assert torch.equal(run(*inputs.operands()), inputs.expected.half())


def test_outputs_beyond_fp16_become_infinite():
    x = torch.tensor([[2.0**15, -(2.0**15)]]).half()
    W = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).half()
    assert load(COALESCED)(x, W).tolist() == [[math.inf, -math.inf]]


def test_no_rows_give_no_rows_once_all_else_is_right():
    kernel = load("gemv_a16wn_fp32", nbits=4)
    W_packed = pack_warped_int32(torch.zeros(70, 600, dtype=torch.uint8), 4)
    assert kernel(torch.empty(0, 600).half(), W_packed, 1.0, 7.0).shape == (0, 70)
    with pytest.raises(TypeError, match="needs scales"):
        kernel(torch.empty(0, 600).half(), W_packed)


def test_out_may_not_share_memory_with_an_operand_but_may_lie_beside_one():
    kernel = load("gemv_a16w16_warp")
    room = torch.zeros(3, 8, dtype=torch.float16)
    W = torch.zeros(8, 8, dtype=torch.float16)
    assert kernel(room[:1], W, out=room[1:2]).data_ptr() == room[1:2].data_ptr()
    with pytest.raises(ValueError, match="out shares its memory with x"):
        kernel(room[:2], W, out=room[1:3])


def test_a_kernel_outlives_the_removal_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_CACHE", str(tmp_path / "kept here"))
    kernel, x = load("gemv_a16w16_warp"), torch.ones(1, 40, dtype=torch.float16)
    before = kernel(x, x)
    shutil.rmtree(tmp_path / "kept here")
    assert torch.equal(kernel(x, x), before)


def test_a_cache_that_cannot_be_written_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_CACHE", "/dev/null/cache")
    with pytest.raises(RuntimeError, match="set GEMLITE_EDU_CACHE to a folder that can be written"):
        load("gemv_a16w16_warp", device="cpu")
