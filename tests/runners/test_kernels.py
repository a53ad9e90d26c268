"""Every kernel in the simulator against the oracle, and what a call with wrong operands says.

`-m every_case` runs all cases of kernel_cases.py: minutes.
"""

import math
import random
import re
import shutil
from dataclasses import replace
from itertools import combinations, product

import pytest
import torch
from kernel_cases import (
    BEYOND,
    CASES,
    CODES,
    EXACT,
    FRACTIONS,
    HALF2,
    NUMBER,
    PACKED_KERNELS,
    PER_CHANNEL,
    PLAIN_KERNELS,
    PLANES,
    RANDOM,
    SPARSE,
    VARIANTS,
    Case,
    is_right,
    make_case,
    poison,
    quick_cases,
    small_cases,
)

from gemlite_edu import load, pack_warped_int32, quantize_linear
from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.numbers.bounds import error_bound
from gemlite_edu.numbers.reference import matmul
from gemlite_edu.runners.simulator.build import build_runner

PACKED = "gemv_a16wn_fp32"
FLOAT4, INT32, DP4A = "gemv_a16wn_float4", "gemv_a8wn_int32", "gemv_a8wn_dp4a"
COALESCED = "gemv_a16w16_coalesced"
ALL_KERNELS = [*PACKED_KERNELS, *PLAIN_KERNELS]
MANY_SECONDS = 600

QUICK_CASES = quick_cases()
INSPECTED_CASES = list({case.variant: case for case in small_cases(1, largest=2**16)}.values())
CASES_TO_INSPECT = [case for case in CASES if case.N * case.K * case.M <= 2**20]


def example(kernel, N=5, K=300, M=2, **changes):
    """A case with 4-bit codes where the kernel has a width."""
    launch = KERNELS[kernel]
    case = Case((kernel, 4 if launch.takes_nbits else None), launch.x_dtypes[0], N, K, M)
    return replace(case, **changes)


def run(case, operands, **options):
    return case.load(**options)(*operands)


@pytest.mark.parametrize("case", QUICK_CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands()))


@pytest.mark.every_case
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer_in_every_case(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands(), time_limit=MANY_SECONDS))


def inspect(case):
    inputs = make_case(case)
    report = case.load(time_limit=MANY_SECONDS).inspect(*inputs.operands())
    return report.findings, is_right(case, inputs, report.y)


@pytest.mark.parametrize("case", INSPECTED_CASES, ids=str)
def test_it_is_safe(case):
    assert inspect(case) == ((), True)


@pytest.mark.every_case
@pytest.mark.parametrize("case", CASES_TO_INSPECT, ids=str)
def test_it_is_safe_in_every_case(case):
    assert inspect(case) == ((), True)


def test_the_quick_cases_know_every_value_of_every_factor():
    for factor in ("variant", "x_dtype", "N", "K", "M", "zeros", "data"):
        values = {getattr(case, factor) for case in CASES}
        assert {getattr(case, factor) for case in QUICK_CASES} == values
    assert {32, 64, 128, "number", "channel"} < {case.scope for case in QUICK_CASES}
    assert any((case.group_size or 32) % 32 for case in QUICK_CASES)
    assert {case.variant for case in INSPECTED_CASES} == set(VARIANTS)


@pytest.mark.parametrize("is_integer", [False, True])
def test_any_two_values_of_two_factors_meet(is_integer):
    cases = [case for case in CASES if case.is_packed and case.is_integer == is_integer]
    for factors in combinations(("variant", "N", "K", "M", "zeros", "data"), 2):
        met = {tuple(getattr(case, factor) for factor in factors) for case in cases}
        assert met == set(product(*(set(values) for values in zip(*met, strict=True)))), factors


def any_case(case):
    return case.K > 96


def grouped(case):
    return case.group_size is not None and case.zeros in (CODES, FRACTIONS, BEYOND)


def of_different_rows(case):
    return case.scope == PER_CHANNEL and case.N > 1 and case.zeros in (CODES, FRACTIONS, BEYOND)


def of_many_rows(case):
    return case.M >= 8


def of_two_turns(case):
    return case.K == 4096 and case.M > 4


def of_8_bits(case):
    return case.nbits == 8


# What a careless hand could do to a kernel: where it shows, the kernel, its text, the careless one.
MISTAKES_IN_TEXTS = {
    "one group too far": (grouped, PACKED, "/ GROUP_SIZE, groups", "/ GROUP_SIZE + 1, groups"),
    "the scale of the first group": (grouped, PACKED, "scales[group] *", "scales[0] *"),
    "the zero of the first group": (grouped, PACKED, "zeros[group])", "zeros[0])"),
    "the codes of the first group": (grouped, PACKED, "from_code(word, j),", "from_code(word, 0),"),
    "a row left out": (of_many_rows, PACKED, "first_m + r < M &&", "first_m + r < M - 1 &&"),
    "the eighth row left out": (of_many_rows, PACKED, "first_m + r < M &&", "r < 7 &&"),
    "one pass over the rows": (of_many_rows, PACKED, "first_m = blockIdx.y * ROWS", "first_m = 0"),
    "the first row of x for all": (of_many_rows, PACKED, "r * K_staged + k - start", "k - start"),
    "one turn": (of_two_turns, PACKED, "first_tile < num_tiles;", "first_tile < tiles_staged;"),
    "x of the first turn again": (of_two_turns, PACKED, "m * K + start", "m * K"),
    "x not cleared": (any_case, PACKED, "k < K ? x[k] : static_cast<X_T>(0.0f)", "x[k]"),
    "the last output left out": (any_case, PACKED, "has_output = n < N", "has_output = n < N - 1"),
    "scales of the first output": (of_different_rows, PACKED, "scales += safe_n * groups;", ""),
    "zeros of the first output": (of_different_rows, PACKED, "zeros += safe_n * groups;", ""),
    "the top code one less": (any_case, PACKED, "(1u << W_NBITS) - 1u", "(1u << W_NBITS) - 2u"),
    "three of four sums": (any_case, FLOAT4, "(sum.z + sum.w)", "sum.z"),
    "x of the first for the second": (any_case, HALF2, "? x[(j + 1) * WARP_SIZE]", "? x[0]"),
    "whole zeros alone": (grouped, HALF2, "(-zero * SCALE_DOWN)", "(-truncf(zero) * SCALE_DOWN)"),
    "scales forgotten": (of_different_rows, INT32, "sum * scale : sum", "sum : sum"),
    "x without its sign": (any_case, INT32, "* x[j * WARP_SIZE]", "* (x[j * WARP_SIZE] & 255)"),
    "codes of 8 bits with a sign": (of_8_bits, DP4A, "W_NBITS == 8 ? 128 : 0", "0"),
    "the high bit as the second": (any_case, PLANES, "1u) << 2;", "1u) << 1;"),
    "the other one kept": (any_case, SPARSE, "? 2 * p : 2 * p + 1", "? 2 * p + 1 : 2 * p"),
    "a pair split by a group": (grouped, SPARSE, "(j % 2 ? FIRST_KEPT << 24 : 0)", "0"),
    "the one kept is in another group": (grouped, SPARSE, "if (kept < CODES_PER_GROUP)", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES_IN_TEXTS.values(), ids=MISTAKES_IN_TEXTS.keys())
def test_the_cases_notice_a_mistake(mistake):
    shows, kernel, right, wrong = mistake
    cases = [case for case in CASES if case.kernel == kernel and case.N <= 100 and shows(case)]
    some = random.Random(0).sample(cases, min(5, len(cases)))
    assert any(gets_it_wrong(case, right, wrong) for case in some)


def gets_it_wrong(case, right, wrong):
    kernel, inputs = case.load(), make_case(case)
    assert right in kernel.source, "the kernel's text has changed: change the mistake with it"
    kernel._program.source = kernel.source.replace(right, wrong)
    try:
        return not is_right(case, inputs, kernel(*inputs.operands()))
    except KernelFault:
        return True


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("group_size", [None, 40])
def test_quantized_weights_multiply_as_their_dequantization(group_size, symmetric):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 1000, generator=generator).half()
    W = torch.randn(33, 1000, generator=generator)
    q = quantize_linear(W, 3, group_size, symmetric)
    kernel = load(PACKED, nbits=3, group_size=group_size)
    y = kernel(x, pack_warped_int32(q.W_q, 3), q.scales, q.zeros)
    W_real = q.dequantize(torch.float64)
    assert ((y.double() - matmul(x, W_real)).abs() <= error_bound(x, W_real, y.dtype)).all()


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_call_leaves_its_inputs_alone_and_repeats(kernel):
    case = example(kernel, data=RANDOM)
    operands = make_case(case).operands()
    before = [operand.clone() for operand in operands]
    loaded = case.load()
    first, second = loaded(*operands), loaded(*operands)
    assert torch.equal(first, second)
    assert all(map(torch.equal, operands, before))


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_strided_operands_count_as_their_copies(kernel):
    case = example(kernel, M=3)
    inputs = make_case(case)
    strided = [operand.T.contiguous().T for operand in inputs.operands()]
    assert not strided[0].is_contiguous()
    assert is_right(case, inputs, run(case, strided))
    every_other_column = torch.stack([inputs.x, -inputs.x], dim=-1).flatten(1)[:, ::2]
    assert is_right(case, inputs, run(case, [every_other_column, *inputs.operands()[1:]]))


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_out_receives_the_result(kernel):
    case = example(kernel)
    inputs = make_case(case)
    out = poison(case)
    y = case.load()(*inputs.operands(), out=out)
    assert y is out
    assert is_right(case, inputs, out)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_no_rows_give_no_rows(kernel):
    case = example(kernel)
    x, *weights = make_case(case).operands()
    y = case.load()(x[:0], *weights)
    assert (y.shape, y.dtype) == ((0, case.N), case.y_dtype)


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
def test_a_group_of_a_whole_row_is_one_scale_for_each_output(kernel):
    case = example(kernel)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands(), group_size=case.K))


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
def test_one_scale_for_each_output_may_stand_for_all_its_groups(kernel):
    case = example(kernel)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands(), group_size=60))


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
def test_every_weight_may_be_a_group(kernel):
    case = example(kernel, K=32, M=1, scope=1)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands()))


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
@pytest.mark.parametrize("K, group_size", [(480, 160), (288, 96)])
def test_the_codes_of_a_group_may_be_an_odd_number(kernel, K, group_size):
    """Of 5-, 6- and 3-bit codes, 3 or 5 in a row share a group then."""
    widths = [3, 5, 6] if KERNELS[kernel].takes_nbits else [None]
    for nbits in widths:
        case = example(kernel, K=K, scope=group_size, variant=(kernel, nbits))
        inputs = make_case(case)
        assert is_right(case, inputs, run(case, inputs.operands()))


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
@pytest.mark.parametrize("M, K", [(1, 200_000), (9, 25_000)])
def test_rows_longer_than_shared_memory_take_turns(kernel, M, K):
    case = example(kernel, N=1, M=M, K=K, scope=1000)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands()))


@pytest.mark.parametrize("data", [EXACT, RANDOM])
@pytest.mark.parametrize("kernel", PACKED_KERNELS)
def test_many_rows_are_served_eight_at_a_time(kernel, data):
    case = example(kernel, N=2, K=64, M=100, data=data)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands()))


@pytest.mark.parametrize("kernel", [INT32, DP4A])
def test_integer_scales_may_be_left_out(kernel):
    case = example(kernel, scope=NUMBER)
    x, W, _, zeros = make_case(case).operands()
    loaded = case.load()
    assert torch.equal(loaded(x, W, zeros=zeros), loaded(x, W, 1, zeros))
    assert torch.equal(loaded(x, W, None, zeros), loaded(x, W, 1.0, zeros))


@pytest.mark.parametrize("kernel", [INT32, DP4A])
def test_the_largest_sum_of_an_int32_is_reached(kernel):
    K = (2**31 - 1) // (255 * 128)
    x = torch.full((1, K), -128, dtype=torch.int8)
    W = pack_warped_int32(torch.full((1, K), 255, dtype=torch.uint8), 8)
    assert load(kernel, nbits=8)(x, W, zeros=0).item() == -128 * 255 * K
    assert load(kernel, nbits=8)(x, W, scales=-1, zeros=0).item() == 128 * 255 * K


def test_a_number_may_stand_beside_a_tensor():
    case = example(PACKED, data=RANDOM)
    x, W, scales, zeros = make_case(case).operands()
    same = torch.full((case.N, 1), 0.75)
    loaded = case.load()
    assert torch.equal(loaded(x, W, 0.75, zeros), loaded(x, W, same, zeros))
    assert torch.equal(loaded(x, W, scales, 0.75), loaded(x, W, scales, same))


def test_integer_numbers_are_numbers():
    inputs = make_case(example(PACKED))
    loaded = load(PACKED, nbits=4)
    assert torch.equal(loaded(inputs.x, inputs.W, 2, 8), loaded(inputs.x, inputs.W, 2.0, 8.0))


def test_rows_longer_than_shared_memory_suit_kernels_that_stage_nothing():
    x = torch.zeros(1, 200_000).half()
    x[0, ::999] = 1
    W = torch.ones(2, 200_000).half()
    W[1, -1] = 5
    assert load(COALESCED)(x, W).tolist() == matmul(x, W).tolist()


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
    right = run(case, inputs.operands(), replace=dequant_dot(RIGHT_TEXT))
    assert is_right(case, inputs, right)
    constant = run(case, inputs.operands(), replace=dequant_dot("\n  return 0.0f;\n"))
    assert (constant == 0).all()


def test_a_text_for_the_codes_of_a_group_is_what_runs_with_groups():
    case = example(PACKED, K=256, scope=64)
    inputs = make_case(case)
    text = RIGHT_TEXT.replace("PACK_FACTOR", "CODES_PER_GROUP")
    assert is_right(case, inputs, run(case, inputs.operands(), replace=dequant_dot(text)))


def test_a_text_for_whole_words_is_right_for_groups_of_whole_words():
    case = example(PACKED, K=512, scope=256)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs.operands(), replace=dequant_dot(RIGHT_TEXT)))


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_exact_inputs_reveal_a_mistake(mistake):
    case = example(PACKED)
    inputs = make_case(case)
    wrong = dequant_dot(RIGHT_TEXT.replace(*mistake))
    assert not is_right(case, inputs, run(case, inputs.operands(), replace=wrong))


BROKEN_TEXT = "\n  float sum = 0.0f;\n  return sum + not_declared;\n"


def test_text_that_does_not_compile_is_quoted_with_its_line():
    with pytest.raises(ValueError) as caught:
        load(PACKED, nbits=4, replace=dequant_dot(BROKEN_TEXT), device="cpu")
    message = str(caught.value)
    assert re.search(r"\bline 3\b", message)
    assert "  return sum + not_declared;" in message
    assert len(message.splitlines()) == 2


def test_text_is_compiled_at_the_first_call_if_the_device_is_open():
    kernel = load(PACKED, nbits=4, replace=dequant_dot(BROKEN_TEXT))
    with pytest.raises(ValueError, match=r"\bline 3\b"):
        kernel(*make_case(example(PACKED)).operands())


def test_a_kernel_that_never_ends_is_stopped():
    endless = "\n  for (volatile int i = 0;; i = i + 1) {}\n  return 0.0f;\n"
    kernel = load(PACKED, nbits=4, replace=dequant_dot(endless), time_limit=0.3)
    with pytest.raises(RuntimeError, match=r"0\.3 s") as caught:
        kernel(*make_case(example(PACKED)).operands())
    assert "\n" not in str(caught.value)


BAD_LOADS = {
    "unknown kernel": (dict(name="gemv_a16w5"), ValueError, "gemv_a16w5"),
    "nbits missing": (dict(nbits=None), TypeError, "nbits"),
    "nbits 0": (dict(nbits=0), ValueError, "nbits.*0"),
    "nbits 9": (dict(nbits=9), ValueError, "nbits.*9"),
    "nbits True": (dict(nbits=True), TypeError, "nbits.*bool"),
    "nbits float": (dict(nbits=4.0), TypeError, "nbits.*float"),
    "nbits for plain weights": (dict(name=COALESCED), ValueError, f"{COALESCED}.*nbits"),
    "nbits for planes": (dict(name=PLANES), ValueError, f"{PLANES}.*one width.*nbits out"),
    "nbits for sparse weights": (dict(name=SPARSE), ValueError, f"{SPARSE}.*one width.*nbits out"),
    "x_dtype float32": (dict(x_dtype=torch.float32), ValueError, "float32"),
    "x_dtype int8": (dict(x_dtype=torch.int8), ValueError, f"float16 or.*{PACKED}.*int8"),
    "x_dtype bfloat16 in halves": (
        dict(name=HALF2, x_dtype=torch.bfloat16),
        ValueError,
        f"torch.float16 for {HALF2}, got torch.bfloat16",
    ),
    "x_dtype float16 for integers": (
        dict(name=DP4A, x_dtype=torch.float16),
        ValueError,
        f"torch.int8 for {DP4A}, got torch.float16",
    ),
    "group_size 0": (dict(group_size=0), ValueError, "group_size.*1 or more.*0"),
    "group_size float": (dict(group_size=64.0), ValueError, "group_size.*int.*64.0"),
    "group_size True": (dict(group_size=True), ValueError, "group_size.*int.*True"),
    "group_size for plain weights": (
        dict(name=COALESCED, nbits=None, group_size=64),
        ValueError,
        f"{COALESCED} takes unquantized weights: leave group_size out",
    ),
    "a text for whole words with groups": (
        dict(group_size=64, replace=dequant_dot(RIGHT_TEXT)),
        KernelTextError,
        "group_size = 64.*2 codes at a time.*CODES_PER_GROUP",
    ),
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
X_INT8 = torch.ones(M, K, dtype=torch.int8)
W_PACKED = torch.zeros(N, 64, dtype=torch.int32)
W_PLAIN = torch.ones(N, K).half()
ONES = torch.ones(N, 1)
INT_ONES = ONES.to(torch.int32)

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
    "scales beyond float32": (dict(scales=1e300), ValueError, "scales must fit in float32.*1e.300"),
}

GROUPS = torch.ones(N, 5)  # of 60

BAD_CALLS_WITH_GROUPS = {
    "scales of too few groups": (
        dict(scales=GROUPS[:, :4]),
        ValueError,
        r"scales.*\(5, 5\).*, 4\)",
    ),
    "zeros of too many groups": (
        dict(zeros=torch.ones(N, 6)),
        ValueError,
        r"zeros.*\(5, 5\).*, 6\)",
    ),
    "scales of too few rows": (dict(scales=GROUPS[:4]), ValueError, r"scales.*\(4, 5\)"),
    "one dimension": (dict(scales=ONES[:, 0]), ValueError, r"scales.*\(5, 1\) or \(5, 5\).*\(5,\)"),
    "a scale for each group alone": (
        dict(scales=torch.ones(1, 4)),
        ValueError,
        r"scales.*\(1, 4\)",
    ),
    "scales of three dimensions": (dict(scales=GROUPS[None]), ValueError, r"scales.*\(1, 5, 5\)"),
    "K of no whole groups": (dict(x=X[:, :290]), ValueError, "60 does not divide K = 290"),
}

BAD_INTEGER_CALLS = {
    "x float16": (dict(x=X), TypeError, "x .*int8.*float16"),
    "x uint8": (dict(x=X_INT8.to(torch.uint8)), TypeError, "x .*int8.*uint8"),
    "zeros missing": (dict(zeros=None), TypeError, "needs zeros.*int32"),
    "zeros float32": (dict(zeros=ONES), TypeError, "zeros.*int32.*float32"),
    "scales float32": (dict(scales=ONES), TypeError, "scales.*int32.*float32"),
    "scales int64": (dict(scales=INT_ONES.long()), TypeError, "scales.*int32.*int64"),
    "zeros 0.5": (dict(zeros=0.5), ValueError, r"zeros.*whole number.*0\.5"),
    "scales 1.5": (dict(scales=1.5), ValueError, r"scales.*whole number.*1\.5"),
    "zeros NaN": (dict(zeros=math.nan), ValueError, "zeros.*whole number.*nan"),
    "a scale too large": (dict(scales=10_000), ValueError, "K = 300.*int32.*split K.*119"),
    "a scale too large for any K": (dict(scales=2**30), ValueError, "a zero or scale is too large"),
    "a scale of more than 32 bits": (dict(scales=2**31), ValueError, "scales.*int32.*2147483648"),
    "a zero of more than 32 bits": (
        dict(zeros=-(2**40)),
        ValueError,
        "zeros.*int32.*-1099511627776",
    ),
    "a negative scale too large": (dict(scales=INT_ONES * -10_000), ValueError, "leave int32"),
    "a zero too large": (dict(zeros=INT_ONES * 60_000), ValueError, "K = 300.*leave int32"),
    "a zero too low": (dict(zeros=-60_000), ValueError, "K = 300.*leave int32"),
    "out of the wrong type": (
        dict(out=torch.empty(M, N).half()),
        ValueError,
        "out.*int32.*float16",
    ),
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


def assert_one_sentence(kernel, operands, error, named):
    with pytest.raises(error, match=named) as caught:
        kernel(**operands)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changed, error, named", BAD_PACKED_CALLS.values(), ids=BAD_PACKED_CALLS.keys()
)
def test_bad_call_with_packed_weights_is_named_in_one_sentence(changed, error, named):
    operands = dict(x=X, W=W_PACKED, scales=ONES, zeros=ONES) | changed
    assert_one_sentence(load(PACKED, nbits=4), operands, error, named)


@pytest.mark.parametrize(
    "changed, error, named", BAD_CALLS_WITH_GROUPS.values(), ids=BAD_CALLS_WITH_GROUPS.keys()
)
def test_bad_call_with_groups_is_named_in_one_sentence(changed, error, named):
    operands = dict(x=X, W=W_PACKED, scales=GROUPS, zeros=GROUPS) | changed
    assert_one_sentence(load(PACKED, nbits=4, group_size=60), operands, error, named)


@pytest.mark.parametrize("kernel", [INT32, DP4A])
@pytest.mark.parametrize(
    "changed, error, named", BAD_INTEGER_CALLS.values(), ids=BAD_INTEGER_CALLS.keys()
)
def test_bad_call_with_integers_is_named_in_one_sentence(kernel, changed, error, named):
    operands = dict(x=X_INT8, W=W_PACKED, scales=INT_ONES, zeros=INT_ONES) | changed
    assert_one_sentence(load(kernel, nbits=4), operands, error, named)


@pytest.mark.parametrize("kernel", [INT32, DP4A])
def test_one_more_than_an_int32_holds_is_refused_and_one_less_is_not(kernel):
    K = (2**31 - 1) // (255 * 128) + 1
    x, kernel = torch.zeros(1, K, dtype=torch.int8), load(kernel, nbits=8)
    W = torch.zeros(1, -(-K // 128) * 32, dtype=torch.int32)
    assert_one_sentence(kernel, dict(x=x, W=W, zeros=0), ValueError, f"K = {K}.*up to {K - 1} ")
    assert kernel(x[:, 1:], W, zeros=0).tolist() == [[0]]


@pytest.mark.parametrize("kernel", PLAIN_KERNELS)
@pytest.mark.parametrize(
    "changed, error, named", BAD_PLAIN_CALLS.values(), ids=BAD_PLAIN_CALLS.keys()
)
def test_bad_call_with_plain_weights_is_named_in_one_sentence(kernel, changed, error, named):
    assert_one_sentence(load(kernel), dict(x=X, W=W_PLAIN) | changed, error, named)


def test_rows_longer_than_shared_memory_are_refused_in_one_sentence_where_all_is_staged():
    case = example("gemv_a16w16_shared", N=1, K=200_000, M=1)
    with pytest.raises(ValueError, match="200000.*shared memory") as caught:
        run(case, make_case(case).operands())
    assert "\n" not in str(caught.value)


def test_a_call_may_follow_one_that_failed():
    case = example(PACKED)
    inputs = make_case(case)
    kernel = case.load()
    with pytest.raises(TypeError):
        kernel(inputs.x.float(), *inputs.operands()[1:])
    assert is_right(case, inputs, kernel(*inputs.operands()))


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


def test_a_kernel_outlives_the_removal_of_the_cache(own_cache):
    runner = build_runner().parent
    kernel, x = load("gemv_a16w16_warp"), torch.ones(1, 40, dtype=torch.float16)
    before = kernel(x, x)
    built = [folder for folder in own_cache.iterdir() if folder != runner]
    assert built
    for folder in built:
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    assert torch.equal(kernel(x, x), before)


def test_a_cache_that_cannot_be_written_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_CACHE", "/dev/null/cache")
    with pytest.raises(RuntimeError, match="set GEMLITE_EDU_CACHE to a folder that can be written"):
        load("gemv_a16w16_warp", device="cpu")
