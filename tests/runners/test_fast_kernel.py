"""The GEMV at the memory limit in the simulator: its launches, mistakes in its text, its errors."""

import random
import re
from dataclasses import replace

import pytest
import torch
from fast_cases import (
    BF16,
    CASES,
    EXACT,
    EXTREMES,
    FAST,
    FEW_BLOCKS,
    FP16,
    MANY_BLOCKS,
    RANDOM,
    THREE_TILES,
    Case,
    gets_it_wrong,
    inspect,
    is_right,
    laid_out,
    make_case,
    poison,
    run,
    with_text,
)
from simulator.test_claims import claims_of, is_true

from gemlite_edu import load, quantize_linear
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.fast_weights import FastWeights, Types
from gemlite_edu.kernels.gemv_fast import plan_gemv
from gemlite_edu.kernels.machine import Machine
from gemlite_edu.kernels.pair_table import HOLE_BYTES
from gemlite_edu.operators.weight import PackedWeight

WIDTHS, PIECED = range(8, 0, -1), (7, 6, 5, 3)
any_width = pytest.mark.parametrize("nbits", WIDTHS)
both_types = pytest.mark.parametrize("x_dtype", [FP16, BF16], ids=str)


def example(nbits=4, M=3, N=21, least_K=300, **changes):
    return Case(nbits, M, N, least_K, **changes)


# How it is launched


def plan(M, N, K, nbits, group_size=128, x_dtype=FP16, machine=MANY_BLOCKS):
    types, weights = Types(x_dtype, x_dtype), FastWeights(nbits, group_size)
    return plan_gemv(M, N, K, types, weights, machine).product


def test_a_block_of_each_multiprocessor_takes_several_tiles():
    launch = plan(1, 5120, 4096, nbits=4)
    assert (launch.grid, launch.threads) == ((132, 1), 1024)
    assert launch.integers == (1, 5120, 4096)
    assert launch.shared_bytes == 2 * 4096 + 8 * 32 + 4 * 3 * 32 * 16


def test_five_long_rows_of_x_take_two_passes():
    launch = plan(5, 16384, 16384, nbits=4)
    assert (launch.grid, launch.defines["ROWS"]) == ((132, 2), 4)


@pytest.mark.parametrize(
    ("M", "N", "nbits", "group_size", "tiles"),
    [
        (1, 11008, 4, 128, 2),
        (1, 11008, 4, 32, 2),
        (8, 11008, 4, 32, 1),  # too few registers for the scales of 8 rows
        (1, 11008, 5, 128, 1),  # and for the words of 5 bits
        (1, 14336, 4, 128, 1),  # 448 double tiles would take 132 blocks as long as 528
        (4, 5120, 4, 128, 3),  # 107 triple tiles take them as long as 320 single ones
        (1, 5120, 4, 128, 1),  # but each of 16 warps would have two or three steps of 128
        (1, 5120, 8, 128, 3),
        (8, 5120, 8, 128, 3),
        (8, 5120, 4, 128, 1),  # too few registers for the sums of 8 rows
        (4, 5120, 4, 32, 1),
        (4, 5120, 2, 128, 3),
        (4, 5120, 3, 128, 1),
        (1, 4096, 3, 128, 1),  # each of 16 warps would have one step of 256
        (4, 4096, 3, 128, 2),
    ],
)
def test_a_warp_computes_several_tiles_where_that_is_sooner(M, N, nbits, group_size, tiles):
    assert plan(M, N, 4096, nbits, group_size).defines["TILES"] == tiles


@pytest.mark.parametrize("nbits, tiles", [(4, 3), (2, 1)])
def test_three_tiles_share_the_decoding_of_a_table(nbits, tiles):
    weights = FastWeights(nbits, 128, hole_bytes=HOLE_BYTES)
    launch = plan_gemv(1, 5120, 1536, Types(FP16, FP16), weights, MANY_BLOCKS).product
    assert launch.defines["TILES"] == tiles  # of two bits registers do not suffice


def test_some_cases_are_launched_with_three_tiles():
    of_three = [case for case in CASES if case.plan().product.defines["TILES"] == 3]
    assert set(THREE_TILES) <= set(of_three)


def test_a_block_has_no_more_warps_than_steps():
    assert plan(1, 1536, 384, nbits=4).defines["WARPS"] == 3


@pytest.mark.parametrize("M", [1, 8])
def test_outputs_of_a_vocabulary_take_turns_and_not_passes(M):
    launch = plan(M, 262_144, 4096, nbits=4)
    columns, passes = launch.grid
    assert columns > 132 and columns % 132 == 0 and passes == 1
    assert launch.shared_bytes <= 227 * 1024


@pytest.mark.parametrize(
    "N, nbits, starts_early",
    [(4096, 1, True), (4095, 1, False), (32768, 4, True), (32769, 4, False)],
)
def test_a_launch_starts_early_where_that_was_measured_to_gain(N, nbits, starts_early):
    assert plan(1, N, 4096, nbits).starts_early == starts_early
    assert not plan(1, N, 4096, nbits, machine=Machine((8, 9), 84)).starts_early


@any_width
@both_types
def test_a_launch_fits_the_machine(nbits, x_dtype):
    choose = random.Random(0)
    for _ in range(300):
        M, N = choose.randint(1, 40), choose.randint(1, 2 ** choose.randint(1, 18))
        K, group_size = 8 * choose.randint(1, 2500), choose.choice((16, 32, 128, 256, None))
        K += -K % (group_size or 1)
        machine = choose.choice([MANY_BLOCKS, FEW_BLOCKS, Machine((8, 6), 84), Machine((7, 5), 40)])
        launch = plan(M, N, K, nbits, group_size, x_dtype, machine)
        limit = {(9, 0): 227, (8, 6): 99, (7, 5): 64}[machine[0]] * 1024
        assert launch.shared_bytes <= limit and launch.threads <= 1024
        blocks, passes = launch.grid
        assert blocks <= -(-N // (16 * launch.defines["TILES"]))
        assert passes == -(-M // launch.defines["ROWS"])


def test_weights_of_more_vectors_than_the_text_counts_are_refused():
    with pytest.raises(ValueError, match="W of 1073741824 x 8 codes is too large .* by rows"):
        plan(1, 2**30, 8, nbits=4, group_size=None)


def test_a_row_of_x_that_no_block_holds_is_refused():
    with pytest.raises(ValueError, match="x of K = 131072 takes .* bytes of shared memory"):
        plan(1, 4096, 131_072, nbits=4)


def test_more_codes_than_it_counts_are_refused():
    with pytest.raises(ValueError, match="W of 1048576 x 65536 codes is too large for a launch"):
        plan(1, 2**20, 2**16, nbits=4)


# Mistakes


def any_case(case):
    return case.data == EXACT and case.N > 1


def many_rows(case):
    return any_case(case) and case.M > 1


def several_groups(case):
    return any_case(case) and case.groups > 1


def several_parts(case):
    return several_groups(case) and case.M <= 2 and case.group_size == 32


def several_steps(case):
    step = FastWeights(case.nbits, case.group_size).step
    return several_groups(case) and case.group_size < step < case.K


def several_tiles(case):
    return any_case(case) and case.N > 100 and case.machine == FEW_BLOCKS


def long_groups(case):
    return several_groups(case) and case.group_size == 512


def bf16(case):
    return many_rows(case) and case.x_dtype == BF16


WIDE, NARROW, BOTH = (8, 7, 6, 5, 4, 3), (2, 1), WIDTHS

# What a careless hand could do: widths of the text, where it shows, the text, the careless one.
MISTAKES = {
    "zero forgotten": (BOTH, any_case, "dot - zero * sum_x", "dot"),
    "the offset left": ((7, 6, 5, 4, 3, 2, 1), any_case, "dot -= offsets_of(sums)", "dot -= 0.0f"),
    "another row's sums": (BOTH, many_rows, "own_part * ROWS + 2 * t % ROWS", "own_part * ROWS"),
    "no scaling undone": (BOTH, bf16, "power_of(sums) * ", ""),
    "the upper row's scale": (BOTH, any_case, "g + own % 2 * 8;", "g;"),
    "the first group's scale": (BOTH, several_steps, "at * PARTS;", "0;"),
    "a group of a step": (BOTH, long_groups, "at / STEPS_PER_GROUP", "at"),
    "one pass over the rows": (BOTH, lambda c: c.M > 8, "= blockIdx.y * ROWS", "= 0"),
    "no last tile": (BOTH, lambda c: c.N > 32, "ceil_div(tiles - block, blocks) * ", "1 * "),
    "a warp left out": (BOTH, lambda c: c.K > 500, "warp < WARPS;", "warp < WARPS - 1;"),
    "a tile's sums kept": (BOTH, several_tiles, "totals[tile][slot][m] = 0.0f;", ""),
    "the last output left out": (BOTH, any_case, "n >= N) continue", "n >= N - 1) continue"),
    "the last row left out": (BOTH, many_rows, "(m >= M ||", "(m >= M - 1 ||"),
    "another part's scale": (BOTH, several_parts, "(group + own / 2) * N", "group * N"),
    "another part's dot": (BOTH, several_parts, "if (share == other)", "if (share % 2 == other)"),
    "half of the parts": (BOTH, several_parts, "total += __shfl_xor_sync", "__shfl_xor_sync"),
    "rows exchanged": (BOTH, any_case, "row_8 = step.words[tile][1]", "row_8 = row"),
    "pairs exchanged": (BOTH, any_case, "met.x, met.y", "met.y, met.x"),
    "the lower codes alone": ((8, 4, 2), any_case, "half % 2 == 0 ? 0x5410 : 0x7632", "0x5410"),
    "the last row left unread": (BOTH, any_case, "int>(N - 1) -", "int>(N - 2) -"),
    "one half's codes": (PIECED, any_case, "halves_of(row, plane / FIELDS", "halves_of(row, 0"),
    "one half's rest": (PIECED, any_case, "halves_of(row, half, i) >>", "halves_of(row, 0, i) >>"),
    "one half's signs": ((3, 5), any_case, "below + half, i)", "half, i)"),
    "the shifted sign left out": ((3, 5), any_case, "row, below - 1, i) >> 8", "row, 0, i) >> 8"),
    "signs in one place": ((3, 5), any_case, "256u << half", "256u >> half + 8"),
    "pieces in one place": (PIECED, any_case, "REST_FIELD + first - from", "REST_FIELD"),
    "bits of other pieces": (PIECED, any_case, "(bit - place), mask, p", "(bit - place), ~0u, p"),
    "no field of the rests": (PIECED, any_case, "? REST_FIELD :", "? plane % FIELDS :"),
    "a piece read twice": (PIECED, any_case, " + REGISTERS / 2 - 1", ""),
    "words of a row alone": ((7, 5), any_case, "(at * REGISTERS + i * 4)", "(at * REGISTERS)"),
    "half of a group's x": (BOTH, any_case, "other < PART / CHUNK", "other < PART / CHUNK / 2"),
    "code beside its place": (WIDE, any_case, "(bit - place)", "(bit - place + 1)"),
    "1024 left": (WIDE, any_case, "- (1024 >> place)", "- (1023 >> place)"),
    "one bit more": (NARROW, any_case, "<< W_NBITS) - 1u", "<< W_NBITS + 1) - 1u"),
    "the wrong exponent": (NARROW, any_case, "25u - place", "24u - place"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    widths, shows, right, wrong = mistake
    cases = [case for case in CASES if case.nbits in widths and shows(case)]
    largest = sorted(cases, key=lambda case: case.M * case.N * case.K)[-3:]
    assert any(gets_it_wrong(case, right, wrong) for case in largest)  # the third largest first


UNSAFE = {
    "no barrier": ("__syncthreads();", "", "barrier|race|thread"),
    "x not waited for": ("__pipeline_wait_prior(0);", "", "copy.*has not delivered"),
    "x beyond M": ("m < M && k < K", "k < K", r"x\["),
    "rows beyond W": ("return min(further, ", "return max(further, ", "W"),
    "outputs beyond y": ("(m >= M || n >= N)", "(m >= M)", r"y\["),
}


@pytest.mark.parametrize("mistake", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_inspection_finds_what_is_unsafe(mistake):
    right, wrong, told = mistake
    case = example(M=3, N=33, least_K=264)
    report, _ = inspect(case, with_text(case, right, wrong))
    sentences = "\n".join(map(str, report.findings))
    assert re.search(told, sentences), sentences


@pytest.mark.parametrize("nbits", [7, 4])
def test_the_claims_are_true(nbits):
    case = Case(nbits, M=2, N=64, least_K=512)
    kernel = case.load()
    report = kernel.inspect(**make_case(case).operands(case, kernel))
    claims = claims_of(kernel.source)
    assert len(claims) == 3
    for claim in claims:
        assert is_true(claim, report), f"{claim}\n{report}"


# How exact it is


@any_width
def test_activations_of_one_sign_cost_no_digits_of_the_output(nbits):
    """Offsets do cost digits of the sums, most where x does not cancel."""
    case = example(nbits, data=RANDOM)
    inputs = make_case(case)
    inputs = replace(inputs, x=inputs.x.abs())
    assert is_right(case, inputs, run(case, inputs))


def test_bfloat16_beyond_float16_keeps_its_digits():
    case = Case(4, M=2, N=16, least_K=256, x_dtype=BF16, data=RANDOM)
    inputs = make_case(case)
    for exponent in (-100, -20, 40, 110):
        scaled = replace(inputs, x=inputs.x.sign() * 2.0**exponent)
        y = run(case, scaled)
        assert is_right(case, scaled, y) and y.isfinite().all()


@both_types
def test_what_is_no_number_stays_in_its_row_or_column(x_dtype):
    case = example(x_dtype=x_dtype)
    inputs = make_case(case)
    inputs.x[1, 7], inputs.scales[3] = torch.nan, torch.nan
    lost = torch.zeros(3, 21, dtype=torch.bool)
    lost[:, 3] = lost[1] = True
    assert torch.equal(run(case, inputs).isnan(), lost)


@both_types
def test_an_infinite_x_does_not_look_finite(x_dtype):
    case = example(x_dtype=x_dtype)
    inputs = make_case(case)
    inputs.x[1, 7] = torch.inf
    finite = run(case, inputs).isfinite()
    assert not finite[1].any() and finite[[0, 2]].all()


# Calls


def test_a_call_leaves_its_inputs_alone_and_repeats():
    case = example(x_dtype=BF16, data=RANDOM)
    kernel = case.load()
    operands = make_case(case).operands(case, kernel)
    before = {name: torch.as_tensor(value).clone() for name, value in operands.items()}
    assert torch.equal(kernel(**operands), kernel(**operands))
    assert all(torch.equal(torch.as_tensor(operands[name]), before[name]) for name in before)


@any_width
def test_out_receives_the_result(nbits):
    case = example(nbits)
    inputs, kernel, out = make_case(case), case.load(), poison(case)
    assert kernel(**inputs.operands(case, kernel), out=out) is out
    assert is_right(case, inputs, out)


def test_a_kernel_may_be_called_with_one_shape_after_the_other():
    kernel = example().load()
    for M, N, K in ((5, 21, 128), (1, 5, 256), (12, 70, 640), (0, 3, 128), (5, 21, 128)):
        case = example(4, M, N, K)
        inputs = make_case(case)
        assert is_right(case, inputs, run(case, inputs, kernel=kernel))


def test_scales_may_have_any_form():
    case = example(least_K=256)
    W_q, kernel = make_case(case).W_q, case.load()
    same = torch.full((21, 2), 0.75)
    for form in (0.75, same[:1, :1], same[:, :1]):
        for packed in kernel.pack(W_q, form, form)[1:]:
            assert torch.equal(packed, same.half().T)


def test_a_quantized_matrix_is_multiplied():
    W = torch.randn(40, 256, generator=torch.Generator().manual_seed(0))
    q = quantize_linear(W, nbits=4, group_size=64)
    kernel = load(FAST, nbits=4, group_size=64)
    y = kernel(torch.eye(256).half(), *kernel.pack(q.W_q, q.scales, q.zeros))
    torch.testing.assert_close(y.T.float(), q.dequantize(), rtol=2**-9, atol=1e-4)


def test_views_of_other_kinds_count_as_their_copies():
    case = example()
    kernel = case.load()
    operands = make_case(case).operands(case, kernel)
    x = operands["x"]
    for view in (x[:1].expand(3, -1), torch._neg_view(x)):
        y = kernel(**operands | {"x": view})
        assert torch.equal(y, kernel(**operands | {"x": view.clone()}))


def test_words_of_the_layer_are_its_words():
    q = quantize_linear(torch.randn(40, 256), nbits=4, group_size=64)
    weight, kernel = PackedWeight.from_quantized(q), load(FAST, nbits=4, group_size=64)
    assert torch.equal(kernel.pack(q.W_q, q.scales, q.zeros)[0], weight.words)


# Texts of one's own

LOOKUP = """
__host__ __device__ constexpr float offset_of(int f) { return 0; }
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const float table[] = {-1.0f, -0.75f, -0.5f, -0.4375f, -0.25f, -0.1875f, -0.125f, 0.0f,
                         0.125f, 0.1875f, 0.25f, 0.3125f, 0.4375f, 0.5f, 0.75f, 1.0f};
  const uint32_t word = pairs >> 4 * f;
  return __floats2half2_rn(table[word & 15], table[word >> 16 & 15]);
}
"""


@both_types
def test_the_hole_takes_a_table(x_dtype):
    numbers = re.findall(r"-?\d\.\d+(?=f)", LOOKUP)
    table = torch.tensor([float(number) for number in numbers])
    case = example(x_dtype=x_dtype)
    inputs, kernel = make_case(case), case.load(replace={"dequant_pair": LOOKUP})
    expected = replace(inputs.product(case), codes=table[inputs.W_q.long()]).exact()
    assert torch.equal(run(case, inputs, kernel=kernel), expected.to(x_dtype))
    assert "replaces dequant_pair" in repr(kernel)


CLEAN_FIELDS = """
__host__ __device__ constexpr float offset_of(int f) { return 0; }
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t low = pairs >> W_NBITS * f, mask = (1u << W_NBITS) - 1u;
  return __floats2half2_rn(low & mask, low >> 16 & mask);
}
"""


@pytest.mark.parametrize("nbits", [3, 7])
def test_a_text_sees_whole_fields_with_nothing_beside_the_code(nbits):
    """A text that takes all of a field works for codes of fewer bits, joined from pieces."""
    case = example(nbits)
    kernel = case.load(replace={"dequant_pair": CLEAN_FIELDS})
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, kernel=kernel))


def test_a_text_that_does_not_compile_is_quoted_with_its_line():
    broken = LOOKUP.replace("[word & 15]", "[wort & 15]")
    with pytest.raises(KernelTextError, match=r"dequant_pair, line 6: .*\n +return __floats2"):
        load(FAST, 4, replace={"dequant_pair": broken}, device="cpu")


def test_a_text_must_define_what_its_codes_are_off_by():
    lines = [line for line in LOOKUP.splitlines(keepends=True) if "offset_of" not in line]
    with pytest.raises(KernelTextError, match=r"dequant_pair must define the function offset_of"):
        load(FAST, 4, replace={"dequant_pair": "".join(lines)}, device="cpu")


# Loading


def test_a_name_that_is_nearly_a_kernels_names_it():
    with pytest.raises(ValueError, match=r"no kernel 'gemv_fast' \(did you mean gemv_a16wn_fast\?"):
        load("gemv_fast")
    with pytest.raises(ValueError, match="no kernel 'xyz'; there are gemv_a16w16_naive, "):
        load("xyz")


def test_a_kernel_says_what_it_is():
    kernel = load(FAST, 4, group_size=128, device="cpu")
    assert repr(kernel) == (
        f"Kernel({FAST}, nbits=4, x_dtype=torch.float16, group_size=128, device='cpu')"
    )
    assert "// BEGIN HOLE dequant_pair" in kernel.source


BAD_LOADS = {
    "no width": (dict(nbits=None), TypeError, f"{FAST} needs nbits"),
    "another width": (dict(nbits=9), ValueError, "nbits must be .*1 to 8, got 9"),
    "another type of x": (dict(x_dtype=torch.float32), ValueError, "x_dtype must be .*float32"),
    "short groups": (
        dict(group_size=8),
        ValueError,
        "group_size must be 16, 32, 64 or a multiple of 128, got 8",
    ),
    "groups of one bit": (dict(nbits=1, group_size=384), ValueError, "multiple of 256, got 384"),
    "no group": (dict(group_size=0), ValueError, "group_size must be an int of 1 or more"),
    "a type of y": (dict(y_dtype=FP16), ValueError, "y_dtype and fragment are for ternary"),
    "another hole": (
        dict(replace={"dequant_dot": LOOKUP}),
        ValueError,
        "has no hole 'dequant_dot'",
    ),
}


@pytest.mark.parametrize("options, error, named", BAD_LOADS.values(), ids=BAD_LOADS.keys())
def test_bad_load_is_named_in_one_sentence(options, error, named):
    with pytest.raises(error, match=named) as caught:
        load(FAST, **dict(nbits=4) | options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "scales, zeros, error, named",
    [
        (None, 0, TypeError, "scales must be given"),
        (1, torch.zeros(21, 2), ValueError, r"zeros must be one number or .*\(21, 3\), got"),
        (torch.ones(21, 3).half(), 0, TypeError, "scales must be float32, got torch.float16"),
        (1e5, 0, ValueError, "scales must fit in float16, up to 65504: scale x instead"),
        (1e-9, 0, ValueError, r"scales must fit in float16, from 2\*\*-14 on: multiply them by"),
        (-1.25e-7, 0, ValueError, "scales must fit in float16, from"),
        (torch.ones(21, 1, device="meta"), 0, ValueError, "scales is on meta"),
    ],
)
def test_bad_scales_are_named_in_one_sentence(scales, zeros, error, named):
    with pytest.raises(error, match=named) as caught:
        example().load().pack(make_case(example()).W_q, scales, zeros)
    assert "\n" not in str(caught.value)


def test_scales_and_zeros_that_float16_nearly_has_are_taken():
    kernel = load(FAST, 4)
    _, scales, zeros = kernel.pack(torch.ones(3, 8).byte(), torch.tensor([[0], [1e-5], [1]]), 1e-9)
    torch.testing.assert_close(scales.float(), torch.tensor([[0, 1e-5, 1]]), rtol=0.01, atol=0)
    assert (zeros == 0).all()


@pytest.mark.parametrize(
    "W_q, error, named",
    [
        ([[1]], TypeError, "W_q must be a torch.uint8 tensor of codes, got list"),
        (torch.ones(256).byte(), ValueError, r"W_q must have shape \(N, K\)"),
        (torch.ones(2, 3, 256).byte(), ValueError, r"W_q must have shape \(N, K\)"),
        (torch.full((2, 256), 16).byte(), ValueError, "W_q has a code 16"),
    ],
)
def test_what_is_no_matrix_of_codes_is_named_in_one_sentence(W_q, error, named):
    with pytest.raises(error, match=named):
        load(FAST, 4, group_size=128).pack(W_q, 1.0, 0.0)


# Calls that are refused

X = torch.ones(3, 256, dtype=FP16)
WORDS, SCALES, ZEROS = load(FAST, 4, group_size=128).pack(
    torch.ones(21, 256, dtype=torch.uint8), 1, 0
)

BAD_CALLS = {
    "x as a list": (dict(x=X.tolist()), TypeError, "x must be a torch.Tensor, got list"),
    "x bfloat16": (dict(x=X.bfloat16()), TypeError, "x must be torch.float16, got torch.bfloat16"),
    "x of rank 1": (dict(x=X[0]), ValueError, r"x must have shape \(M, K\), K >= 1, got \(256,\)"),
    "x on meta": (dict(x=X.to("meta")), ValueError, "x is on meta: kernels take CPU and CUDA"),
    "W as a list": (dict(W=[]), TypeError, "W must be a torch.Tensor, got list"),
    "W of bytes": (
        dict(W=WORDS.byte()),
        ValueError,
        r"W must be \(2, N, 16\) torch.int32 as pack makes it, got \(2, 21, 16\) torch.uint8",
    ),
    "no W": (dict(W=WORDS[:, :0]), ValueError, r"W must be .*got \(2, 0, 16\)"),
    "K over W's": (
        dict(x=torch.ones(3, 384).half()),
        ValueError,
        r"K = 384, for which W must be \(3, N, 16\) .* got \(2, 21, 16\)",
    ),
    "K of no whole groups": (
        dict(x=torch.ones(3, 300).half()),
        ValueError,
        "group_size = 128 does not divide K = 300",
    ),
    "scales of other rows": (
        dict(scales=SCALES[:, :20]),
        ValueError,
        r"scales must be \(2, 21\) as pack makes it, got \(2, 20\)",
    ),
    "scales in a row": (
        dict(scales=SCALES.flatten()),
        ValueError,
        r"scales must be \(2, 21\) as pack makes it, got \(42,\)",
    ),
    "zeros as they were": (
        dict(zeros=torch.ones(2, 21)),
        TypeError,
        "zeros must be torch.float16, got torch.float32",
    ),
    "scales elsewhere": (dict(scales=SCALES.to("meta")), ValueError, "scales is on meta: kernels"),
    "M too long": (dict(x=X[:1].expand(2**31, 256)), ValueError, "M, N and K may be up to"),
    "too many rows": (
        dict(x=X[:1].expand(2**20, 256)),
        ValueError,
        "x has M = 1048576 rows, a launch takes 524280: split x by rows",
    ),
    "out of another shape": (
        dict(out=torch.empty(3, 32, dtype=FP16)),
        ValueError,
        r"out must be \(3, 21\) torch.float16 on cpu, got \(3, 32\)",
    ),
}


@pytest.mark.parametrize("changed, error, named", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_call_is_named_in_one_sentence(changed, error, named):
    kernel = load(FAST, 4, group_size=128)
    with pytest.raises(error, match=named) as caught:
        kernel(**dict(x=X, W=WORDS, scales=SCALES, zeros=ZEROS) | changed)
    assert "\n" not in str(caught.value)


def test_an_older_gpu_is_refused():
    case = example(machine=Machine((7, 0), 80))
    with pytest.raises(ValueError, match="needs the tensor cores of compute capability 7.5 .*7.0"):
        run(case, make_case(case))


def test_nothing_is_inspected_without_rows():
    with pytest.raises(ValueError, match="x has no rows: there is nothing to inspect"):
        load(FAST, 4, group_size=128).inspect(X[:0], WORDS, SCALES, ZEROS)


# The cases


@pytest.mark.parametrize("data", [EXACT, EXTREMES])
@any_width
def test_a_wrong_code_shows(nbits, data):
    case = example(nbits, data=data)
    inputs = make_case(case)
    other = replace(inputs, W_q=inputs.W_q.clone())
    k = int(inputs.x[0].nonzero()[0])
    other.W_q[5, k] ^= 2 ** (nbits - 1)
    assert not is_right(case, inputs, run(case, other))


def test_cases_are_laid_out_as_they_say():
    case = example(memory="unaligned")
    operands = make_case(case).operands(case, case.load())
    assert operands["x"].data_ptr() % 16
    assert torch.equal(laid_out(operands["x"], "sliced"), operands["x"])
