"""The GEMV at the memory limit with 1:2 sparse weights: what is not kept, mistakes, errors."""

import random
import re
from dataclasses import replace

import pytest
import torch
from fast_cases import (
    BF16,
    EXACT,
    EXTREMES,
    FEW_BLOCKS,
    FP16,
    MANY_BLOCKS,
    RANDOM,
    gets_it_wrong,
    inspect,
    is_right,
    make_case,
    run,
    with_text,
)
from simulator.test_claims import claims_of, is_true
from sparse_fast_cases import CASES, SPARSE, SparseCase

from gemlite_edu import load
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.fast_weights import SparseWeights, Types
from gemlite_edu.kernels.gemv_fast import plan_gemv
from gemlite_edu.kernels.machine import Machine
from gemlite_edu.packing import pack_sparse_1in2, tiled_sparsity_50

both_types = pytest.mark.parametrize("x_dtype", [FP16, BF16], ids=str)


# What is not kept


def test_a_pruned_weight_is_0_whatever_the_zero():
    case = SparseCase(N=5, least_K=512)
    inputs = make_case(case)
    others = replace(inputs, kept=~inputs.kept, W_q=inputs.W_q * 0 + 127)
    for row in range(case.N):
        x = torch.where(inputs.kept[row], 0.0, inputs.x.float()).half()
        for zero in (0.0, 64.0, 100.5):
            met = replace(inputs, x=x, zeros=torch.full_like(inputs.zeros, zero))
            assert (run(case, met)[:, row] == 0).all()
            assert (run(case, replace(others, x=x, zeros=met.zeros))[:, row] != 0).any()


def test_a_kept_code_of_0_is_minus_its_zero():
    kernel = load(SPARSE)
    W_q, kept = torch.zeros(1, 64).byte(), torch.arange(64).view(1, 64) < 32
    y = kernel(torch.eye(64).half(), *kernel.pack(W_q, kept, 1.0, 3.0))
    assert torch.equal(y.flatten(), torch.where(kept[0], -3.0, 0.0).half())


# How it is launched


def plan(M, N, K, group_size=None, machine=MANY_BLOCKS):
    types = Types(FP16, FP16)
    return plan_gemv(M, N, K, types, SparseWeights(group_size), machine).product


def test_a_block_of_each_multiprocessor_takes_several_tiles():
    launch = plan(1, 4096, 4096)
    assert (launch.grid, launch.threads) == ((132, 1), 512)
    assert launch.integers == (1, 4096, 4096)
    assert launch.shared_bytes == 2 * 4096 + 4 * 16 + 4 * 2 * 16 * 16


def test_a_launch_fits_the_machine():
    choose = random.Random(0)
    for _ in range(300):
        M, N = choose.randint(1, 40), choose.randint(1, 2 ** choose.randint(1, 18))
        K, group_size = 8 * choose.randint(1, 2500), choose.choice((64, 128, 256, None))
        K += -K % (group_size or 1)
        machine = choose.choice([MANY_BLOCKS, FEW_BLOCKS, Machine((8, 6), 84), Machine((7, 5), 40)])
        launch = plan(M, N, K, group_size, machine)
        limit = {(9, 0): 227, (8, 6): 99, (7, 5): 64}[machine[0]] * 1024
        assert launch.shared_bytes <= limit and launch.threads <= 512
        assert launch.grid[1] == -(-M // launch.defines["ROWS"])


def test_weights_of_more_vectors_than_the_text_counts_are_refused():
    with pytest.raises(ValueError, match="W of 268435457 x 8 codes is too large .* by rows"):
        plan(1, 2**28 + 1, 8)


# Mistakes


def any_case(case):
    return case.data == EXACT and case.N > 1


def many_rows(case):
    return any_case(case) and case.M > 1


def several_groups(case):
    return any_case(case) and case.groups > 1


def long_groups(case):
    return several_groups(case) and case.group_size == 512


def short_groups(case):
    return several_groups(case) and case.group_size < 256


def bf16(case):
    return case.data == RANDOM and case.M > 2 and case.x_dtype == BF16


def long_rows(case):
    return any_case(case) and case.K > 256


# What a careless hand could do: where it shows, the text, the careless one.
MISTAKES = {
    "zero forgotten": (any_case, "minus_zero));", "__float2half2_rn(0.0f)));"),
    "zero added": (any_case, "(-UNIT)", "(UNIT)"),
    "another unit": (any_case, "(1.0f / UNIT)", "256.0f"),
    "what is not kept is not 0": (any_case, "kept & ~is_first", "kept"),
    "first and second exchanged": (any_case, "is_first = permute", "is_first = ~permute"),
    "the flag as a digit": (any_case, "word & 0x7F7F7F7Fu", "word"),
    "a bit of the code lost": (any_case, "next & 0x7F7F7F7Fu", "next & 0x3F3F3F3Fu"),
    "the code twice": (any_case, "0xC480 +", "0x4400 +"),
    "the first sign twice": (any_case, "0xCC88 +", "0x8888 +"),
    "bytes from the lowest on": (any_case, "3 - j, zero", "j, zero"),
    "the lower words alone": (any_case, "h * 4 + t", "t"),
    "planes side by side": (any_case, "lane_x, 4 * j + h + 2", "lane_x, 4 * j + h + 1"),
    "the upper row's zero": (any_case, "step.zeros[row][part]);", "step.zeros[0][part]);"),
    "the upper row's scale": (any_case, "step.scales[row][part]) *", "step.scales[0][part]) *"),
    "another part's scale": (short_groups, "scales[(group + part) * N", "scales[group * N"),
    "another part's zero": (short_groups, "zeros[(group + part) * N", "zeros[group * N"),
    "the first group's scale": (short_groups, "at * PARTS", "0"),
    "a group of a step": (long_groups, "at / STEPS_PER_GROUP", "at"),
    "another row's power": (bf16, "2 * t % ROWS + m", "m"),
    "no scaling undone": (bf16, "power * (", "("),
    "a tile's sums kept": (lambda c: c.N > 100, "totals[row][i % 2] = 0.0f;", ""),
    "a warp left out": (long_rows, "warp < WARPS;", "warp < WARPS - 1;"),
    "the last row left unread": (any_case, "row * 8 + g, N - 1)", "row * 8 + g, N - 2)"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    shows, right, wrong = mistake
    cases = [case for case in CASES if shows(case)]
    quick_first = sorted(cases, key=lambda case: case.M * case.N * case.K)
    assert any(gets_it_wrong(case, right, wrong) for case in quick_first)


UNSAFE = {
    "no barrier": ("__syncthreads();", "", "barrier|race|thread"),
    "x not waited for": ("__pipeline_wait_prior(0);", "", "copy.*has not delivered"),
    "rows beyond W": ("min(first_n + row * 8 + g, N - 1)", "first_n + row * 8 + g", "W"),
}


@pytest.mark.parametrize("mistake", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_inspection_finds_what_is_unsafe(mistake):
    right, wrong, told = mistake
    case = SparseCase(M=3, N=33, least_K=264)
    report, _ = inspect(case, with_text(case, right, wrong))
    sentences = "\n".join(map(str, report.findings))
    assert re.search(told, sentences), sentences


@pytest.mark.parametrize(
    "case",
    [
        SparseCase(M=1, N=64, least_K=512, group_size=None),
        SparseCase(M=8, N=64, least_K=512, group_size=64, x_dtype=BF16),
    ],
    ids=str,
)
def test_the_claims_are_true(case):
    kernel = case.load()
    report = kernel.inspect(**make_case(case).operands(case, kernel))
    claims = claims_of(kernel.source)
    assert len(claims) == 3
    for claim in claims:
        assert is_true(claim, report), f"{claim}\n{report}"


# How exact it is


def test_activations_of_one_sign_cost_no_digits_of_the_output():
    case = SparseCase(M=1, N=64, least_K=1100, data=RANDOM)
    inputs = make_case(case)
    inputs = replace(inputs, x=inputs.x.abs())
    assert is_right(case, inputs, run(case, inputs))


@both_types
def test_what_is_no_number_stays_in_its_row_or_column(x_dtype):
    case = SparseCase(x_dtype=x_dtype)
    inputs = make_case(case)
    inputs.x[1, 7], inputs.zeros[3, 0] = torch.nan, torch.nan
    lost = torch.zeros(3, 21, dtype=torch.bool)
    lost[:, 3] = lost[1] = True
    assert torch.equal(run(case, inputs).isnan(), lost)


@both_types
def test_an_infinite_x_does_not_look_finite(x_dtype):
    case = SparseCase(x_dtype=x_dtype)
    inputs = make_case(case)
    inputs.x[1, 7] = torch.inf
    finite = run(case, inputs).isfinite()
    assert not finite[1].any() and finite[[0, 2]].all()


# Calls


@pytest.mark.parametrize("group_size", [None, 64])
def test_it_agrees_with_the_kernel_of_the_lesson(group_size):
    """Bit for bit where every sum is exact, with the same words."""
    case = SparseCase(M=2, least_K=320, group_size=group_size)
    inputs, lesson = make_case(case), load("gemv_a16w7_sparse", group_size=group_size)
    words = pack_sparse_1in2(inputs.W_q, inputs.kept)
    operands = inputs.operands(case, case.load())
    assert torch.equal(operands["W"], words)
    y = lesson(inputs.x, words, inputs.scales, inputs.zeros)
    assert torch.equal(run(case, inputs), y)


def test_scales_may_have_any_form():
    case = SparseCase(least_K=256)
    inputs, kernel = make_case(case), case.load()
    same = torch.full((21, 2), 0.75)
    for form in (0.75, same[:1, :1], same[:, :1]):
        for packed in kernel.pack(inputs.W_q, inputs.kept, form, form)[1:]:
            assert torch.equal(packed, same.half().T)


def test_a_pruned_matrix_is_multiplied():
    W = torch.randn(40, 256, generator=torch.Generator().manual_seed(0))
    kept = tiled_sparsity_50(W)
    scale = W.abs().max() / 63
    kernel = load(SPARSE)
    W_q = ((W / scale).round() + 64).byte()
    y = kernel(torch.eye(256).half(), *kernel.pack(W_q, kept, float(scale), 64))
    torch.testing.assert_close(y.T.float(), W * kept, rtol=2**-8, atol=float(scale))


# Texts of one's own

OTHER_NUMBERS = """
constexpr float UNIT = 1.0f;
__device__ float one_of(uint32_t word, int byte) {
  return (word >> 8 * byte & 0x7F) == 0 ? -8.0f : 1.0f;
}
__device__ Pairs dequant_pairs(uint32_t word, uint32_t next, int byte, half2 zero) {
  const half2 numbers = __floats2half2_rn(one_of(word, byte), one_of(next, byte));
  const uint32_t kept = as_bits(numbers - zero);
  const uint32_t is_first = permute(word, next, 0xCC88 + 0x1111 * byte);
  return {as_half2(kept & is_first), as_half2(kept & ~is_first)};
}
"""


@both_types
def test_the_hole_takes_other_numbers(x_dtype):
    case = SparseCase(x_dtype=x_dtype)
    inputs, kernel = make_case(case), case.load(replace={"dequant_pairs": OTHER_NUMBERS})
    inputs.W_q[inputs.W_q % 3 == 0] = 0
    read = torch.where(inputs.W_q == 0, -8, 1) * inputs.kept
    expected = replace(inputs.product(case), codes=read).exact()
    assert torch.equal(run(case, inputs, kernel=kernel), expected.to(x_dtype))
    assert "replaces dequant_pairs" in repr(kernel)


def test_a_text_that_does_not_compile_is_quoted_with_its_line():
    broken = OTHER_NUMBERS.replace("numbers = ", "number = ")
    told = r"dequant_pairs, line 7: .*\n +const uint32_t kept"
    with pytest.raises(KernelTextError, match=told):
        load(SPARSE, replace={"dequant_pairs": broken}, device="cpu")


# Loading, packing and calls that are refused


def test_a_kernel_says_what_it_is():
    kernel = load(SPARSE, x_dtype=BF16, group_size=128)
    assert repr(kernel) == (
        f"Kernel({SPARSE}, x_dtype=torch.bfloat16, group_size=128, device='auto')"
    )
    assert "// BEGIN HOLE dequant_pairs" in kernel.source


BAD_LOADS = {
    "a width": (dict(nbits=7), "weights of one width: leave nbits out"),
    "short groups": (dict(group_size=32), "must be 64, 128 or a multiple of 256, got 32"),
    "ragged groups": (dict(group_size=384), "must be 64, 128 or a multiple of 256, got 384"),
    "no group": (dict(group_size=0), "group_size must be an int of 1 or more"),
    "another type of x": (dict(x_dtype=torch.float32), "x_dtype must be .*float32"),
}


@pytest.mark.parametrize("options, named", BAD_LOADS.values(), ids=BAD_LOADS.keys())
def test_bad_load_is_named_in_one_sentence(options, named):
    with pytest.raises(ValueError, match=named) as caught:
        load(SPARSE, **options)
    assert "\n" not in str(caught.value)


def packed(K=320, group_size=64):
    W_q, kept = torch.ones(21, K).byte(), tiled_sparsity_50(torch.ones(21, K))
    return load(SPARSE, group_size=group_size).pack(W_q, kept, 1.0, 0.0)


X, (WORDS, SCALES, ZEROS) = torch.ones(3, 320, dtype=FP16), packed()

BAD_CALLS = {
    "W of other tiles": (
        dict(W=WORDS[:, :32]),
        r"K = 320, for which W must be \(N, 64\) torch.int32 as pack makes it, got \(21, 32\)",
    ),
    "W of plane tiles": (dict(W=WORDS[None]), r"W must be \(N, 64\) .*got \(1, 21, 64\)"),
    "no W": (dict(W=WORDS[:0]), r"W must be \(N, 64\) .*got \(0, 64\)"),
    "K of no whole groups": (dict(x=X[:, :100]), "group_size = 64 does not divide K = 100"),
    "groups that are not padded": (
        dict(scales=SCALES[:5]),
        r"scales must be \(8, 21\) as pack makes it, got \(5, 21\)",
    ),
}


@pytest.mark.parametrize("changed, named", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_call_is_named_in_one_sentence(changed, named):
    kernel = load(SPARSE, group_size=64)
    with pytest.raises(ValueError, match=named) as caught:
        kernel(**dict(x=X, W=WORDS, scales=SCALES, zeros=ZEROS) | changed)
    assert "\n" not in str(caught.value)


def test_both_of_a_pair_cannot_be_kept():
    with pytest.raises(ValueError, match=r"of W\[0, 0\] and W\[0, 32\] exactly one must be kept"):
        load(SPARSE).pack(torch.ones(1, 64).byte(), torch.ones(1, 64), 1.0, 0.0)


def test_an_older_gpu_is_refused():
    case = SparseCase(machine=Machine((7, 0), 80))
    with pytest.raises(
        ValueError, match="7.5 or more, and this GPU has 7.0: use gemv_a16w7_sparse$"
    ):
        run(case, make_case(case))


# The cases


@pytest.mark.parametrize("data", [EXACT, EXTREMES])
@pytest.mark.parametrize("change", ["code", "kept"])
def test_a_wrong_byte_shows(change, data):
    case = SparseCase(data=data)
    inputs = make_case(case)
    other = replace(inputs, W_q=inputs.W_q.clone(), kept=inputs.kept.clone())
    k = int((inputs.x[0] * inputs.kept[5]).nonzero()[0])
    if change == "code":
        other.W_q[5, k] ^= 64
    else:
        other.kept[5, [k, k ^ 32]] ^= True
    assert not is_right(case, inputs, run(case, other))
