"""The product for batches in the simulator: its plans, mistakes in its text, its errors."""

import ctypes
import random
import re
from collections import Counter
from dataclasses import replace

import pytest
import torch
from batch_cases import BATCH, CASES, LONG_CASES, SHARED_CASES, Case
from fast_cases import (
    EXACT,
    FP16,
    FRACTIONS,
    RANDOM,
    gets_it_wrong,
    inspect,
    is_right,
    make_case,
    run,
    with_text,
)
from simulator.test_claims import claims_of, is_true
from ternary_cases import UNALIGNED

from gemlite_edu import load
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.fast_weights import FastWeights, Types
from gemlite_edu.kernels.gemm_fast import _Cut, plan_gemm
from gemlite_edu.kernels.machine import H200, HOPPER, Machine
from gemlite_edu.kernels.pair_table import HOLE_BYTES
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.runners import kernel as kernel_module
from gemlite_edu.runners.gpu_or_simulator import Program

WIDTHS = range(1, 9)
EVERY_WAY = [Case(4, rows + 1, 64, 256, rows=rows) for rows in (16, 64)]
EVERY_WAY += [Case(4, 177, 256, 256, rows=176)]
# Four outputs of a row at once, and blocks that share tiles.
EVERY_END = [
    Case(4, 65, 256, 256, rows=64, width=2),
    Case(4, 65, 256, 256, rows=64, width=2, is_even=True),
]


# A row's words in two bulk copies, in one and a shorter one, and in a shorter one alone.
EVERY_LOAD = [Case(nbits, 17, 128, 256, rows=32, width=1) for nbits in (8, 7, 1)]


@pytest.mark.parametrize("case", EVERY_WAY + EVERY_LOAD + EVERY_END, ids=str)
def test_the_claim_is_true(case):
    report, _ = inspect(case)
    (claim,) = claims_of(case.load().source)
    assert is_true(claim, report), report


@pytest.mark.parametrize("case", [*EVERY_WAY, EVERY_LOAD[1], EVERY_END[1]], ids=str)
def test_a_launch_has_the_shared_bytes_that_the_text_lays_out(case):
    """The text does not compile with a byte more or less."""
    last_bytes = "offsetof(Shared, left) + sizeof(Shared::left)"

    def with_bytes(count):
        struct = "// A barrier knows only whether"
        return with_text(case, struct, f"static_assert({last_bytes} == {count});\n{struct}")

    count = case.plan().product.shared_bytes
    inspect(case, with_bytes(count))
    with pytest.raises(KernelTextError, match="static assertion"):
        inspect(case, with_bytes(count + 1))


# How it is cut


def plan(M, N, K, nbits=4, group_size=128, multiprocessors=132, largest_cluster=4):
    types, weights = Types(FP16, FP16, FP16, FP16), FastWeights(nbits, group_size)
    return plan_gemm(M, N, K, types, weights, Machine(HOPPER, multiprocessors, largest_cluster))


EVEN = "even"


@pytest.mark.parametrize(
    "M, N, K, rows, block_n, tiles, cut",
    [
        (16, 4096, 4096, 16, 64, 64, 2),
        (16, 8192, 8192, 16, 128, 64, 2),
        (16, 16384, 16384, 16, 256, 64, 2),
        (9, 28672, 8192, 16, 256, 112, 1),
        (64, 8192, 8192, 64, 128, 64, 2),
        (100, 8192, 8192, 128, 128, 64, 2),
        (256, 4096, 4096, 128, 64, 128, 1),
        (100, 1536, 384, 32, 64, 96, 1),  # rows of x in several blocks, or most would idle
        (128, 11008, 4096, 128, 192, 58, 2),
        (128, 28672, 8192, 128, 256, 112, EVEN),
        (256, 8192, 8192, 256, 128, 64, 2),
        (1024, 8192, 8192, 256, 128, 256, 1),
        (1024, 14336, 4096, 256, 128, 448, EVEN),
        (1024, 16384, 16384, 256, 128, 512, 1),
        (1024, 5120, 13824, 256, 128, 160, EVEN),
        (512, 11008, 4096, 176, 256, 129, 1),
        (176, 14336, 4096, 176, 256, 56, 2),
    ],
)
def test_an_h200_is_filled(M, N, K, rows, block_n, tiles, cut):
    launch = plan(M, N, K).product
    defines = launch.defines
    assert (defines["ROWS"], 16 * defines["TILES"] * defines["WARPS_N"]) == (rows, block_n)
    assert launch.cluster == (1 if cut == EVEN else cut)
    assert launch.grid == (132 if cut == EVEN else tiles * cut, 1)
    assert launch.starts_early


def test_three_blocks_that_are_no_cluster_share_a_tile():
    launch = plan(256, 5120, 13824).product
    assert (launch.defines["SPLITS"], launch.cluster, launch.grid) == (3, 1, (3 * 40, 1))


def test_no_more_blocks_share_a_tile_than_it_has_steps():
    """One without steps would leave nothing, and the next would wait for it."""
    for steps in range(1, 9):
        for M in (17, 40, 100, 300):
            defines = plan(M, 1000, 128 * steps).product.defines
            assert not defines["IS_EVEN"] or defines["SPLITS"] <= steps


@pytest.mark.parametrize("M, blocks", [(256, 120), (1024, 132)])
def test_blocks_have_room_for_a_flag_and_the_sums_that_they_leave(M, blocks):
    made = plan(M, 5120, 13824)
    (lower, _), defines = made.launches, made.product.defines
    assert (lower.text, lower.integers) == ("lower_flags", (blocks,))
    block_n = 16 * defines["TILES"] * defines["WARPS_N"]
    left = blocks * (4 * defines["WARPS_K"] * defines["ROWS"] * block_n) + 4 * blocks
    assert 2 * made.scratch_halves >= left


def test_16_rows_have_room_for_their_image_and_its_sums():
    made = plan(9, 5120, 13824)
    assert made.launches[0].text == "arrange_for_mma"
    assert made.scratch_halves == 16 * 13824 + 2 * 16 * 13824 // 128


def test_more_rows_are_one_launch_where_no_block_leaves_sums():
    made = plan(64, 4096, 4096)
    assert (made.launches, made.scratch_halves) == ((made.product,), 0)


def test_every_launch_starts_early():
    for M in (9, 64, 100):
        assert all(launch.starts_early for launch in plan(M, 5120, 13824).launches)


@pytest.mark.parametrize("nbits", WIDTHS)
def test_12_warps_have_registers_for_codes_of_8_6_4_3_2_and_1_bits(nbits):
    types, weights = Types(FP16, FP16, FP16, FP16), FastWeights(nbits, 128)
    assert _Cut(128, 1, 12, 1, splits=1).fits(types, weights) == (nbits not in (5, 7))


@pytest.mark.parametrize("nbits", WIDTHS)
def test_a_launch_fits_the_machine(nbits):
    choose = random.Random(0)
    for _ in range(300):
        M, N = choose.randint(1, 1000), 8 * choose.randint(1, 2 ** choose.randint(1, 14))
        K, group_size = 256 * choose.randint(1, 64), choose.choice((32, 64, 256, None))
        made = plan(M, N, K, nbits, group_size, choose.choice((1, 78, 132)), choose.choice((1, 4)))
        launch, defines = made.product, made.product.defines
        block_n = 16 * defines["TILES"] * defines["WARPS_N"]
        assert launch.shared_bytes <= 227 * 1024 and launch.threads <= 1024
        row_blocks = -(-M // defines["ROWS"])
        tiles = -(-N // block_n) * row_blocks
        steps = K // FastWeights(nbits).step
        assert launch.grid[1] == 1 and launch.grid[0] <= tiles * steps
        assert launch.cluster in (1, defines["SPLITS"])
        if defines["SPLITS"] > 1 or not defines["IS_EVEN"]:
            assert launch.grid[0] == tiles * defines["SPLITS"]
        assert defines["STAGES"] % defines["WARPS_K"] == 0
        assert defines["STAGES"] >= 2 * defines["WARPS_K"]
        if defines["ROWS"] == 16:
            arrange, _ = made.launches
            blocks, passes = arrange.grid
            assert (blocks * arrange.threads * 8, passes) == (K * 16, row_blocks)


@pytest.mark.parametrize("nbits", WIDTHS)
def test_a_step_of_any_weights_fits(nbits):
    """The most that a stage may hold: two numbers of four bytes for each 32 codes, and a table."""
    weights = FastWeights(nbits, 32, hole_bytes=HOLE_BYTES)
    for M in (1, 17, 40, 100, 1000):
        made = plan_gemm(M, 4096, 4096, Types(FP16, FP16), weights, H200)
        assert made.product.shared_bytes + HOLE_BYTES <= 227 * 1024


def test_the_simulator_has_clusters_of_one():
    kernel = load(BATCH, 4, group_size=128)
    assert kernel.plan(16, 8192, 8192).product.cluster == 1


def shares(launch, tiles, steps):
    """{step of all tiles: how many blocks take it}, as range_of of gemm_fast.cuh says."""
    splits, blocks, taken = launch.defines["SPLITS"], launch.grid[0], Counter()
    for block in range(blocks):
        if not launch.defines["IS_EVEN"] or splits > 1:
            tile, split = divmod(block, splits)
            first = tile * steps + steps * split // splits
            end = tile * steps + steps * (split + 1) // splits
        else:
            share, longer = divmod(tiles * steps, blocks)
            first = block * share + min(block, longer)
            end = first + share + (block < longer)
            assert first < end
        taken.update(range(first, end))
    return taken


@pytest.mark.parametrize("largest_cluster", [1, 2, 4])
def test_every_step_of_every_tile_is_taken_once(largest_cluster):
    choose = random.Random(largest_cluster)
    for _ in range(100):
        M, N, steps = choose.randint(1, 700), 8 * choose.randint(1, 200), choose.randint(1, 9)
        multiprocessors = choose.randint(1, 12)
        launch = plan(M, N, 128 * steps, 4, 128, multiprocessors, largest_cluster).product
        block_n = 16 * launch.defines["TILES"] * launch.defines["WARPS_N"]
        tiles = -(-N // block_n) * -(-M // launch.defines["ROWS"])
        assert shares(launch, tiles, steps) == Counter(range(tiles * steps))


def test_outputs_that_a_block_has_not_are_no_finding():
    for rows in (16, 32):
        report, _ = inspect(Case(4, 3, 24, 256, rows=rows))
        assert not report.findings


MEET = "  meet<WORKER_THREADS>();\n"


def test_an_inspection_sees_whether_workers_meet():
    """Blocks that share out a tile leave sums in the scratch, which is no output."""
    case = replace(SHARED_CASES[1], M=9, N=24)
    report, _ = inspect(case)
    assert not report.findings
    report, _ = inspect(case, with_text(case, f"  {MEET}    finish_rows(", "    finish_rows("))
    assert re.search("reads .* which thread", report.findings[0].sentence)


def test_long_cases_have_more_steps_than_stages():
    for case in LONG_CASES:
        steps = case.K // FastWeights(case.nbits).step
        assert steps > case.plan().product.defines["STAGES"]


# Mistakes


def any_case(case):
    return case.data == EXACT and case.N > 8 and case.K * case.M < 40_000


def few(case):
    return any_case(case) and case.rows == 16


def many(case):
    return any_case(case) and case.rows in (32, 64)


def with_fractions(case):
    """Of zeros with a fraction, 8 bits leave base no digit."""
    return case.nbits == 8 and case.rows > 16 and case.zeros == FRACTIONS


def several_groups(case):
    return any_case(case) and case.groups > 1


def two_tiles(case):
    return case.data == EXACT and case.rows == 176


def shared_out(case):
    return case.is_even and case.data == EXACT


# What a careless hand could do: where it shows, the text, the careless one.
MISTAKES = {
    "the offset left, few rows": (few, "zero + OFFSET)", "zero)"),
    "the offset left, many rows": (many, "if (OFFSET != 0.0f ||", "if (false &&"),
    "zero forgotten, few rows": (few, "zero + OFFSET)", "OFFSET)"),
    "zero forgotten, many rows": (many, "? taken : rounded", "? none : offset"),
    "a zero's fraction forgotten": (
        with_fractions,
        "__hmul2_rn(__hsub2_rn(taken, zero), scale)",
        "none",
    ),
    "a zero's fraction not scaled": (
        with_fractions,
        "__hmul2_rn(__hsub2_rn(taken, zero), scale)",
        "__hsub2_rn(taken, zero)",
    ),
    "the upper row's scale": (any_case, "warp_n + i * 8 +", "warp_n + i / 2 * 8 +"),
    "the first group's scale": (several_groups, "place * PARTS + i;", "i;"),
    "another column's sum": (few, "threadIdx.x % 4 * 2 + c % 2]", "threadIdx.x % 4 * 2]"),
    "rows exchanged": (any_case, "words[i % 2], plane", "words[1 - i % 2], plane"),
    "pairs exchanged": (any_case, "plane, i / 2)", "plane, 1 - i / 2)"),
    "the first half's codes alone": (any_case, "plane / FIELDS, i)", "0, i)"),
    "one plane of x": (few, "is_second = plane % 2 == 1", "is_second = false"),
    "the next plane of x": (many, "weights, x, plane)", "weights, x, plane + 1)"),
    "another box of x": (many, "place * TILE_K + i, of.M", "place * TILE_K, of.M"),
    "pairs of other neighbours": (many, "* OTHER_HALF + t :", "* OTHER_HALF + 3 - t :"),
    "banks exchanged": (many, "lower = is_swapped ? then : first,", "lower = first,"),
    "one bit less": (any_case, "<< W_NBITS) - 1u", "<< W_NBITS - 1) - 1u"),
    "code beside its place": (any_case, "place = 8 - W_NBITS;", "place = 7 - W_NBITS;"),
    "the last output left out": (
        any_case,
        "if (n >= to.N) return;\n  const Columns<WIDTH>",
        "if (n >= to.N - 4) return;\n  const Columns<WIDTH>",
    ),
    "the last output left out, shared tiles": (
        shared_out,
        "if (n >= to.N) return;\n  const Columns<4>",
        "if (n >= to.N - 4) return;\n  const Columns<4>",
    ),
    "a group of warps left out, shared tiles": (shared_out, "group < WARPS_K", "group < 1"),
    "the last row left out": (any_case, "if (own_m < to.M)", "if (own_m < to.M - 1)"),
    "the last row left out, shared tiles": (
        shared_out,
        "if (first_m + row >= to.M) break",
        "if (first_m + row >= to.M - 1) break",
    ),
    "rows exchanged in a four": (any_case, "row / 2 * 8 + row % 2", "row % 2 * 8 + row / 2"),
    "a group of warps left out": (few, "giver < GIVERS; ++giver", "giver < 1; ++giver"),
    "full stages not waited for": (
        any_case,
        "barrier_wait(&shared.full[of.stage]",
        "(void)(0",
    ),
    "a stage never given back": (any_case, "if (done >= begin && done != kept)", "if (false)"),
    "a block's sums not left": (
        shared_out,
        "leave(shared, left_sums,",
        "if (false) leave(shared, left_sums,",
    ),
    "the sums left not added": (shared_out, "if (left_steps > 0) add_left", "if (false) add_left"),
    "the first giver's sums alone": (shared_out, "from.of(block, step", "from.of(0, step"),
    "the tile before is finished": (
        shared_out,
        "(left.end - 1) / of.steps",
        "left.first / of.steps",
    ),
    "the last stage never given back": (
        shared_out,
        "== own.group) give_back(shared, turn_of(kept))",
        "< 0) {}",
    ),
    "the first tile's words for both": (two_tiles, "&words[tile * 2]", "words"),
    "the first tile's scales for both": (two_tiles, "lane.row + tile * 16", "lane.row"),
    "both tiles' sums in one": (two_tiles, "totals[tile], weights", "totals[0], weights"),
    "x never announced": (any_case, "barrier_arrive_expecting(full, X_BYTES);", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    shows, right, wrong = mistake
    cases = [case for case in [*CASES, *map(_longer, EVERY_WAY)] if shows(case)]
    quick_first = sorted(cases, key=lambda case: case.rows * case.N * case.K)
    assert any(gets_it_wrong(case, right, wrong) for case in quick_first)


def _longer(case):
    return replace(case, M=9, N=64, least_K=3072, rows=16) if case.rows == 16 else case


# How exact it is


@pytest.mark.parametrize("rows", [16, 32])
def test_activations_of_one_sign_keep_the_error(rows):
    case = Case(4, M=3, N=64, least_K=1024, data=RANDOM, rows=rows)
    inputs = make_case(case)
    inputs = replace(inputs, x=inputs.x.abs())
    assert is_right(case, inputs, run(case, inputs))


@pytest.mark.parametrize("mean", [0, 3])
@pytest.mark.parametrize(
    "M, step, most", [(16, 2**-11, 2**-11), (17, 2**-11, 2**-11), (17, 2**-18, 1e-3)]
)
def test_zeros_away_from_the_middle_keep_the_error(M, step, most, mean):
    """What a group's weights have in common adds up where x has a mean: of zeros' whole parts
    nothing is rounded. The smallest step is that of `weight.fits_16_bits`."""
    generator = torch.Generator().manual_seed(0)
    N, K = 32, 1024  # for each zero
    zeros = torch.tensor([-1.5, 0, 127, 140.25, 255]).repeat_interleave(N)[:, None]
    codes = 40 * torch.randn(N, K, generator=generator)
    W_q = (codes.repeat(5, 1) + zeros).round().clamp(0, 255).byte()
    scales = ((torch.rand(N, K // 128, generator=generator) + 1) * step).half().float()
    scales = scales.repeat(5, 1)
    zeros = zeros.expand_as(scales).contiguous()
    x = (torch.randn(M, K, generator=generator) + mean).half()
    kernel = load(BATCH, nbits=8, group_size=128)
    y = kernel(x, *kernel.pack(W_q, scales, zeros)).double()
    exact = x.double() @ QuantizedWeight(W_q, scales, zeros, 8, 128).dequantize(torch.float64).T
    for of_a_zero, right in zip(y.split(N, dim=1), exact.split(N, dim=1), strict=True):
        assert (of_a_zero - right).norm() <= most * right.norm()


@pytest.mark.parametrize("rows", [16, 32])
def test_what_is_no_number_stays_in_its_row_or_column(rows):
    case = Case(4, M=3, N=24, least_K=256, rows=rows)
    inputs = make_case(case)
    inputs.x[1, 7], inputs.scales[3] = torch.nan, torch.nan
    lost = torch.zeros(3, 24, dtype=torch.bool)
    lost[:, 3] = lost[1] = True
    assert torch.equal(run(case, inputs).isnan(), lost)


# Calls

TABLE = """
__host__ __device__ constexpr float offset_of(int f) { return 0; }
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const float table[] = {-8.0f, -7.0f, -6.0f, -5.0f, -4.0f, -3.0f, -2.0f, -1.0f,
                         0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};
  const uint32_t word = pairs >> 4 * f;
  return __floats2half2_rn(table[word & 15], table[word >> 16 & 15]);
}"""


@pytest.mark.parametrize("case", EVERY_WAY, ids=str)
def test_your_numbers_are_what_runs(case):
    inputs = make_case(case)
    kernel = case.load(replace={"dequant_pair": TABLE})
    y = run(case, replace(inputs, zeros=inputs.zeros - 8), kernel=kernel)
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("rows", [16, 32])
@pytest.mark.parametrize("nbits", WIDTHS)
def test_the_gemvs_text_fits_too(nbits, rows):
    """Of most widths its fields have offsets of their own, which their codes lose one by one."""
    case = Case(nbits, rows + 1, 24, 256, rows=rows, width=1)
    text = sources.hole("dequant_pair", FastWeights(nbits).text)
    inputs = make_case(case)
    y = run(case, inputs, kernel=case.load(replace={"dequant_pair": text}))
    assert is_right(case, inputs, y)


def test_an_error_in_a_text_is_the_learners_line():
    with pytest.raises(KernelTextError, match="dequant_pair, line 6: .*wort"):
        broken = TABLE.replace("[word & 15]", "[wort & 15]")
        load(BATCH, 4, group_size=128, replace={"dequant_pair": broken}, device="cpu")


class OnGpu(torch.Tensor):
    is_cuda = True


def test_out_that_begins_between_two_pieces_is_written_all_the_same(monkeypatch):
    """A GPU writes four outputs at once; the simulator lays tensors out anew and would not see."""
    case, places = EVERY_WAY[0], []

    def ready(text, plan, device):
        def launch(pointers):
            places.append(pointers[-1] % 16)
            buffer = (ctypes.c_uint16 * case.M * case.N).from_address(pointers[-1])
            torch.frombuffer(buffer, dtype=torch.float16).fill_(7)

        return launch

    monkeypatch.setattr(Program, "ready", ready)
    out = torch.zeros(case.M * case.N + 1).half()[1:].view(case.M, case.N).as_subclass(OnGpu)
    case.load()._program.run(case.plan(), {}, out)
    assert places == [0] and (out == 7).all()


def test_any_number_of_rows_may_follow_another():
    kernel = load(BATCH, 4, group_size=128)
    for M in (5, 20, 0, 5):
        case = Case(4, M, 16, 256)
        inputs = make_case(case)
        operands = inputs.operands(case, kernel)
        y = kernel(**operands)
        assert y.shape == (M, 16)
        assert torch.equal(y, inputs.product(case).exact().half())


def test_bulk_copies_begin_at_16s_of_bytes(addresses):
    case = Case(4, M=2, N=16, least_K=256, memory=UNALIGNED)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs))
    assert addresses and not any(address % 16 for address in addresses)


@pytest.mark.parametrize(
    "N, K, told", [(12, 128, "takes N in 8s .* got N = 12"), (8, 192, "K in 128s, .* K = 192")]
)
def test_weights_beyond_it_are_refused(N, K, told):
    kernel = load(BATCH, 4)
    W_q = torch.zeros(N, K, dtype=torch.uint8)
    with pytest.raises(ValueError, match=told):
        kernel(torch.ones(2, K).half(), *kernel.pack(W_q, 1.0, 0.0))


def test_groups_of_16_are_refused_before_weights_are_packed():
    told = "^group_size must be 32 or more for gemm_a16wn_fast, got 16$"
    with pytest.raises(ValueError, match=told):
        load(BATCH, 4, group_size=16)


def test_rows_whose_pieces_an_int_cannot_count_are_refused():
    longest = 2**26
    arrange = plan(16, 8, longest, multiprocessors=1).launches[0]
    assert arrange.grid[0] * arrange.threads < 2**31
    with pytest.raises(ValueError, match=f"K may be up to {longest}, got .*: split K over calls"):
        plan(300, 8, longest + 128)


def test_bfloat16_is_refused():
    with pytest.raises(ValueError, match="x_dtype must be torch.float16 for gemm_a16wn_fast"):
        load(BATCH, 4, torch.bfloat16)


def test_another_gpu_is_refused(monkeypatch):
    kernel = load(BATCH, 4)
    operands = kernel.pack(torch.zeros(8, 128, dtype=torch.uint8), 1.0, 0.0)
    monkeypatch.setattr(kernel_module, "machine_of", lambda device: Machine((8, 0), 108))
    with pytest.raises(ValueError, match="needs compute capability 9.0, and this GPU has 8.0"):
        kernel(torch.ones(2, 128).half(), *operands)
