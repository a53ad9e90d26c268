"""Levels of a table in the hole of the fast kernels: exactly these, in both kernels."""

import copy
import pickle
from dataclasses import replace

import batch_cases
import fast_cases
import pytest
import torch
from fast_cases import BF16, FP16, make_case, run

from gemlite_edu import load
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.pair_table import pair_table

# Sums of these with x of few digits are exact.
LEVELS = (
    -8.0,
    -1.5,
    -1.0,
    -0.25,
    0.0,
    2.0**-6,
    0.125,
    0.5,
    1.0,
    1.25,
    2.0,
    3.0,
    4.0,
    5.5,
    6.0,
    7.0,
)


@pytest.mark.parametrize(
    "case",
    [
        *(
            fast_cases.Case(4, M, 33, least_K, 32, x_dtype)
            for M, least_K in ((1, 8), (3, 320), (8, 96), (11, 1000))
            for x_dtype in (FP16, BF16)
        ),
        *(batch_cases.Case(4, 5, 72, 256, rows=rows) for rows in (16, 32)),
    ],
    ids=str,
)
@pytest.mark.parametrize("levels", [LEVELS, LEVELS[::2]], ids=len)
def test_a_code_stands_for_its_level(case, levels):
    y, expected = _with_and_without(case, levels)
    assert torch.equal(y, expected)


@pytest.mark.parametrize(
    "case",
    [
        *(fast_cases.Case(nbits, 3, 33, 320, 32) for nbits in (1, 2, 3, 5, 6, 7, 8)),
        fast_cases.Case(8, 8, 33, 320, 16, BF16),
        *(batch_cases.Case(nbits, 5, 72, 256, rows=16, width=3) for nbits in range(1, 9)),
        *(batch_cases.Case(nbits, 5, 72, 256, rows=32, width=3) for nbits in (8, 7, 3)),
    ],
    ids=str,
)
def test_every_width_has_a_table(case):
    generator = torch.Generator().manual_seed(case.nbits)
    levels = (torch.randperm(2**case.nbits, generator=generator) - 2 ** (case.nbits - 1)) / 16
    y, expected = _with_and_without(case, levels)
    assert torch.equal(y, expected)


def _with_and_without(case, levels):
    """(y of the kernel with a table, the exact y of these levels)."""
    inputs = make_case(case)
    codes = (inputs.W_q.int() % len(levels)).byte()
    inputs = replace(inputs, W_q=codes, zeros=0 * inputs.zeros)
    y = run(case, inputs, kernel=case.load(replace=pair_table(levels)))
    product = inputs.product(case)
    numbers = torch.as_tensor(levels).half()[product.codes.long()]
    return y, replace(product, codes=numbers).exact().to(case.x_dtype)


@pytest.mark.parametrize(("count", "nbits"), [(256, 8), (16, 4), (8, 4), (8, 3), (4, 2)])
def test_any_half_may_be_a_level(count, nbits):
    any_halves = torch.arange(-128, 123) / 128
    levels = torch.tensor([-65504.0, 65504.0, 2.0**-24, -(2.0**-14), 1 / 3]).half()
    levels = torch.cat([levels, any_halves.half()])[:count]
    codes = torch.arange(count).view(1, count).byte()
    kernel = load("gemv_a16wn_fast", nbits=nbits, replace=pair_table(levels))
    y = kernel(torch.eye(count).half(), *kernel.pack(codes, 1.0, 0.0))
    assert torch.equal(y.flatten(), levels)


# One build for many tables


GEMV, PRODUCT = fast_cases.Case(4, 2, 33, 320, 32), batch_cases.Case(4, 5, 64, 256, rows=16)
both_kernels = pytest.mark.parametrize("case", [GEMV, PRODUCT], ids=str)


@both_kernels
def test_tables_of_one_size_share_a_build(case):
    one, other = (case.load(replace=pair_table(levels)) for levels in (LEVELS, range(16)))
    assert one.source == other.source and one.plan(K=4096) == other.plan(K=4096)
    assert one.compile_for_simulator(5, 64, 512) == other.compile_for_simulator(5, 64, 512)
    assert one.levels != other.levels


@both_kernels
def test_a_call_may_bring_levels_of_its_own(case):
    kernel, inputs = case.load(replace=pair_table(LEVELS)), make_case(case)
    mine = case.load(replace=pair_table(LEVELS[::-1]))
    reversed_levels = torch.tensor(LEVELS[::-1])
    operands = inputs.operands(case, kernel)
    assert torch.equal(kernel(**operands, levels=reversed_levels), mine(**operands))
    of_every_other = torch.stack([reversed_levels, torch.zeros(16)], 1).flatten()[::2]
    assert torch.equal(kernel(**operands, levels=of_every_other), mine(**operands))
    assert not torch.equal(kernel(**operands), mine(**operands))


TWICE = """
__shared__ half2 both[16];
__device__ void prepare_pairs(const float* levels) {
  if (threadIdx.x < 16) both[threadIdx.x] = __float2half2_rn(2.0f * levels[threadIdx.x]);
}"""
OF_ONE_HALF = """
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return __lows2half2(both[codes & 15], both[codes >> 16 & 15]);
}"""
FIXED = """
__constant__ float LEVELS[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
__shared__ half2 both[16];
__device__ bool prepare_pairs() {
  if (threadIdx.x < 16) both[threadIdx.x] = __float2half2_rn(LEVELS[threadIdx.x]);
  return true;
}"""


@both_kernels
def test_an_own_text_takes_the_levels_of_the_call_or_none(case):
    table = case.load(replace=pair_table(range(-8, 8)))
    operands = make_case(case).operands(case, table)
    fixed = case.load(replace={"prepare_pairs": FIXED, "dequant_pair": OF_ONE_HALF})
    assert torch.equal(fixed(**operands), table(**operands))
    twice = case.load(replace={"prepare_pairs": TWICE, "dequant_pair": OF_ONE_HALF})
    y = twice(**operands, levels=torch.arange(-8.0, 8) / 2)
    assert torch.equal(y, table(**operands))
    report = twice.inspect(**operands, levels=torch.arange(16.0))
    assert report.findings == () and "levels" in {line.name for line in report.lines}


def test_levels_that_no_text_takes_or_that_do_not_fit_are_refused():
    table, plain = GEMV.load(replace=pair_table(LEVELS)), GEMV.load()
    operands = make_case(GEMV).operands(GEMV, table)
    with pytest.raises(ValueError, match="this kernel has none, so leave levels out"):
        plain(**operands, levels=torch.zeros(16))
    with pytest.raises(ValueError, match=r"levels must be \(16,\), got \(8,\)"):
        table(**operands, levels=torch.zeros(8))
    with pytest.raises(TypeError, match="levels must be torch.float32, got torch.float16"):
        table(**operands, levels=torch.zeros(16).half())
    with pytest.raises(TypeError, match="levels must be a torch.Tensor, got tuple"):
        table(**operands, levels=LEVELS)


@both_kernels
def test_texts_without_their_levels_are_refused(case):
    kernel = case.load(replace=dict(pair_table(LEVELS)))
    with pytest.raises(
        ValueError, match=r"the text for prepare_pairs takes levels: load .* itself"
    ):
        kernel(**make_case(case).operands(case, kernel))


def test_a_table_is_copied_with_its_levels():
    for again in (
        copy.deepcopy(pair_table(LEVELS)),
        pickle.loads(pickle.dumps(pair_table(LEVELS))),
    ):
        assert again == pair_table(LEVELS) and again.levels == LEVELS


# What a table costs


@pytest.mark.parametrize("case", [GEMV, PRODUCT, fast_cases.Case(6, 2, 33, 320, 32)], ids=str)
def test_an_inspection_finds_nothing_and_no_conflict(case):
    kernel = case.load(replace=pair_table(range(2**case.nbits)))
    report = kernel.inspect(**make_case(case).operands(case, kernel))
    assert report.findings == ()
    of_table = [line for line in report.lines if line.name == "table"]
    assert {line.op for line in of_table} == {"load", "store"}
    assert all(line.conflict_degree == 1 for line in of_table)


@both_kernels
def test_a_table_that_nobody_fills_is_found(case):
    texts = pair_table(LEVELS)
    texts["prepare_pairs"] = texts["prepare_pairs"].replace("table[i / 2][i % 8 ^ j] = ", "")
    kernel = case.load(replace=texts)
    report = kernel.inspect(**make_case(case).operands(case, kernel))
    assert any("no thread" in str(finding) for finding in report.findings), report.findings


@both_kernels
def test_room_for_a_table_is_kept_where_one_is_prepared(case):
    plain = case.load()
    alone = case.load(
        replace={"dequant_pair": sources.hole("dequant_pair", plain.spec.weights.text)}
    )
    with_table = case.load(replace=pair_table(LEVELS))
    assert (plain.spec.hole_bytes, alone.spec.hole_bytes) == (0, 0)
    limit = case.machine.shared_bytes_per_block
    for K in (256, 8192, 65536):
        asked = [_shared_bytes(kernel, M=8, K=K) for kernel in (plain, alone, with_table)]
        assert asked[0] <= asked[1] <= limit and asked[2] <= limit - 33 * 1024


@pytest.mark.parametrize("nbits, count", [(4, 0), (8, 0), (3, 8), (4, 16), (6, 64)])
def test_one_offset_of_all_fields_takes_one_sum_of_x(nbits, count):
    """A block then has 4 bytes for a part of x where a text of the user's own needs 8."""
    ours = dict(pair_table(range(count))) if count else {}
    text = ours.get("dequant_pair") or sources.hole("dequant_pair", "gemv_a16w3to8_fast")
    known, own = (
        load("gemv_a16wn_fast", nbits=nbits, group_size=128, replace=texts)
        for texts in (ours, ours | {"dequant_pair": text + "// my own\n"})
    )
    parts = 4 * 8192 // known.spec.weights.part
    assert _shared_bytes(own, M=4, K=8192) - _shared_bytes(known, M=4, K=8192) == 4 * parts


def _shared_bytes(kernel, M, K):
    return kernel.plan(M, 4096, K).product.shared_bytes


def test_x_that_leaves_no_room_for_a_table_is_refused():
    plain, with_table = GEMV.load(), GEMV.load(replace=pair_table(LEVELS))
    K = 94_208
    assert _shared_bytes(plain, M=1, K=K) > 195 * 1024
    with pytest.raises(ValueError, match="a block of compute capability 9.0 has 198656 for it"):
        _shared_bytes(with_table, M=1, K=K)


@pytest.mark.parametrize("count", [32, 4])
def test_a_table_for_codes_of_another_width_is_named(count):
    with pytest.raises(KernelTextError, match=f"table of {count} levels is for codes of . bits"):
        run(GEMV, make_case(GEMV), kernel=GEMV.load(replace=pair_table(range(count))))


def test_a_table_that_is_not_declared_is_named():
    kernel = GEMV.load(replace={"dequant_pair": pair_table(LEVELS)["dequant_pair"]})
    with pytest.raises(KernelTextError, match="dequant_pair, line .*table"):
        run(GEMV, make_case(GEMV), kernel=kernel)


def test_levels_of_any_numbers_are_rounded_to_halves():
    thirds = torch.full((16,), 1 / 3, dtype=torch.float64)
    assert pair_table([1 / 3] * 16).levels == pair_table(thirds).levels
    assert pair_table(thirds).levels == (0.333251953125,) * 16


@pytest.mark.parametrize(
    "levels, came",
    [
        (range(15), r"a shape of \(15,\)"),
        (range(512), r"a shape of \(512,\)"),
        (4, r"a shape of \(\)"),
        ([[0.0] * 16], r"a shape of \(1, 16\)"),
        ([0.0] * 15 + [1e5], "100000.0 at place 15"),
        (torch.full((16,), torch.nan), "nan at place 0"),
        ("nf4", "'nf4'"),
    ],
)
def test_what_is_no_table_is_refused(levels, came):
    expected = f"2, 4, 8, .* or 256 numbers that fit in float16, up to 65504, got {came}$"
    with pytest.raises(TypeError if levels == "nf4" else ValueError, match=expected):
        pair_table(levels)
