"""The product by mma.sync in the simulator: its launches, mistakes in its text, what it refuses."""

import random
import re
from dataclasses import replace

import pytest
import torch
from fast_cases import (
    BF16,
    EXACT,
    FEW_BLOCKS,
    FP16,
    RANDOM,
    gets_it_wrong,
    inspect,
    is_right,
    make_case,
    run,
    with_text,
)
from mma_cases import A100, CASES, LONG_CASES, MMA, RTX_4090, Case
from simulator.test_claims import claims_of, is_true

from gemlite_edu import load, pair_table
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.fast_weights import FastWeights, Types
from gemlite_edu.kernels.gemm_mma import plan_mma
from gemlite_edu.kernels.machine import H200, Machine
from gemlite_edu.kernels.pair_table import HOLE_BYTES
from gemlite_edu.runners import kernel as kernel_module

both_types = pytest.mark.parametrize("x_dtype", [FP16, BF16], ids=str)
IN_ONE_BLOCK = Case(4, M=3, N=33, least_K=264, group_size=None)
IN_SPLITS = Case(4, M=18, N=33, least_K=1280)
EVERY_WAY = [IN_ONE_BLOCK, IN_SPLITS]


# How it is cut


def plan(M, N, K, nbits=4, group_size=128, x_dtype=FP16, machine=A100, hole_bytes=0):
    types = Types(x_dtype, x_dtype, FP16, FP16)
    return plan_mma(M, N, K, types, FastWeights(nbits, group_size, hole_bytes=hole_bytes), machine)


@pytest.mark.parametrize(
    "M, N, K, machine, rows, splits, blocks",
    [
        (16, 4096, 4096, A100, 16, 6, 192),
        (64, 4096, 4096, A100, 64, 6, 192),
        (33, 4096, 4096, A100, 48, 6, 192),
        (64, 14336, 4096, A100, 64, 1, 112),
        (16, 4096, 4096, RTX_4090, 16, 8, 256),
        (64, 4096, 14336, H200, 64, 8, 256),
        (300, 4096, 4096, A100, 64, 1, 32),
    ],
)
def test_a_gpu_is_filled(M, N, K, machine, rows, splits, blocks):
    made = plan(M, N, K, machine=machine)
    assert made.product.defines["ROWS"] == rows
    assert made.product.integers == (M, N, K, splits)
    assert made.product.grid == (blocks, -(-M // rows))
    assert made.sums_shape == ((splits, M, N) if splits > 1 else ())
    assert len(made.launches) == (2 if splits > 1 else 1)


@pytest.mark.parametrize("nbits", range(8, 0, -1))
@both_types
def test_a_launch_fits_the_machine(nbits, x_dtype):
    choose = random.Random(0)
    for _ in range(200):
        M, N = choose.randint(1, 200), choose.randint(1, 2 ** choose.randint(1, 18))
        K, group_size = 8 * choose.randint(1, 2500), choose.choice((16, 32, 128, 256, None))
        K += -K % (group_size or 1)
        machine = choose.choice([H200, FEW_BLOCKS, A100, RTX_4090])
        made = plan(M, N, K, nbits, group_size, x_dtype, machine)
        launch, defines = made.product, made.product.defines
        assert launch.shared_bytes <= machine.shared_bytes_per_block and launch.threads <= 256
        assert 16 * defines["TILES"] * defines["WARPS"] == 128 and defines["STAGES"] >= 2
        steps = -(-K // FastWeights(nbits, group_size).step)
        splits = launch.integers[3]
        assert 1 <= splits <= min(steps, 32) and (splits == 1 or M <= 64)
        assert launch.grid == (-(-N // 128) * splits, -(-M // defines["ROWS"]))
        if splits > 1:
            assert made.launches[-1].grid == (-(-N // 128), M)


def test_three_steps_or_more_are_on_their_way():
    for machine in (H200, A100, RTX_4090):
        for nbits, M in ((8, 64), (4, 16), (4, 64), (2, 32)):
            assert plan(M, 4096, 4096, nbits, machine=machine).product.defines["STAGES"] >= 3


def test_a_table_leaves_fewer_steps_their_place():
    launch = plan(64, 4096, 4096, machine=RTX_4090, hole_bytes=HOLE_BYTES).product
    assert launch.shared_bytes + HOLE_BYTES <= RTX_4090.shared_bytes_per_block


def test_weights_of_which_two_steps_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="of compute capability 8.9 has too little shared memory"):
        plan(9, 64, 256, 5, 16, BF16, RTX_4090, HOLE_BYTES)


def test_long_cases_have_more_steps_than_stages():
    for case in LONG_CASES:
        launch = case.plan().product
        steps = case.K // FastWeights(case.nbits, case.group_size).step
        assert steps // launch.integers[3] > launch.defines["STAGES"]


# What it does in memory


@pytest.mark.parametrize("nbits, M, x_dtype", [(4, 20, FP16), (3, 9, BF16), (1, 40, FP16)])
def test_the_claim_is_true(nbits, M, x_dtype):
    case = Case(nbits, M, 64, 512, x_dtype=x_dtype)
    report, _ = inspect(case)
    (claim,) = claims_of(case.load().source)
    assert is_true(claim, report), report


# Mistakes


def any_case(case):
    return case.data == EXACT and case.N > 1


def many_rows(case):
    return any_case(case) and case.M > 1


def several_groups(case):
    return any_case(case) and case.groups > 1 and case.group_size < 256 and case.K > 500


def long_groups(case):
    return any_case(case) and case.groups > 1 and case.group_size == 512


def bf16(case):
    return many_rows(case) and case.x_dtype == BF16


def short(case):
    return any_case(case) and case.K < 64


def long_and_pieced(case):
    return case.N > 1 and case.K > 500 and case.nbits in (7, 5)


def splits(case):
    return any_case(case) and case.plan().sums_shape


# What a careless hand could do: where it shows, the text, the careless one.
MISTAKES = {
    "zero forgotten": (any_case, "dot -= zeros[i] * sum_of(sums)", "dot -= 0.0f"),
    "the offset left": (any_case, "dot -= offsets_of(sums)", "dot -= 0.0f"),
    "another row's sums": (many_rows, "from.x_parts[part][m]", "from.x_parts[part][m & ~1]"),
    "no scaling undone": (bf16, "power_of(sums) * ", ""),
    "the upper row's scale": (any_case, "warp_n + i * 8 +", "warp_n + i / 2 * 16 +"),
    "the first group's scale": (several_groups, "step * PARTS + part", "part"),
    "a group of a step": (long_groups, "step / STEPS_PER_GROUP", "step"),
    "one pass over the rows": (lambda c: c.M > 64, "blockIdx.y * ROWS,", "0,"),
    "pairs exchanged": (any_case, "met.x, met.y", "met.y, met.x"),
    "rows exchanged": (any_case, "words[i / 4 * 2 + i % 2]", "words[i / 4 * 2 + 1 - i % 2]"),
    "other columns": (lambda c: many_rows(c) and c.M > 9, "lane_x + c * 8 * 32", "lane_x"),
    "the last output left out": (any_case, "n >= N) continue", "n >= N - 1) continue"),
    "the last row left out": (many_rows, "if (m >= M ||", "if (m >= M - 1 ||"),
    "rows beyond the first alone": (any_case, "i < rows * vectors", "i < vectors"),
    "one half's words": (long_and_pieced, "[i * rows * 4 + at]", "[at]"),
    "half of a group's x": (any_case, "other < PART / CHUNK", "other < PART / CHUNK / 2"),
    "the first share of all": (splits, "split = blockIdx.x % splits", "split = 0"),
    "the first step left out": (short, "if (step < steps) fetch", "if (step + 1 < steps) fetch"),
    "the last step left out": (
        any_case,
        "if (ahead < steps) fetch",
        "if (ahead + 1 < steps) fetch",
    ),
    "a stage filled too late": (any_case, "__pipeline_wait_prior(STAGES - 2)", "(void)0"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    shows, right, wrong = mistake
    cases = sorted(filter(shows, CASES), key=lambda case: case.M * case.N * case.K)
    assert any(gets_it_wrong(case, right, wrong) for case in cases[-4:])


UNSAFE = {
    "no barrier": ("__syncthreads();  // and", "  // and", "barrier|race|thread"),
    "x not waited for": ("__pipeline_wait_prior(STAGES - 2);", "", "copy.*has not delivered"),
    "x beyond M": ("m < from.M && k", "k", r"x\["),
    "outputs beyond y": ("(m >= M || n >= N)", "(m >= M)", r"y\["),
    "scales beyond W": ("min(n + j, from.N - 1)", "n + j", r"scales\["),
    "rows beyond W": ("i < rows * vectors;", "true;", "W"),
}


@pytest.mark.parametrize("mistake", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_inspection_finds_what_is_unsafe(mistake):
    right, wrong, told = mistake
    report, _ = inspect(IN_ONE_BLOCK, with_text(IN_ONE_BLOCK, right, wrong))
    sentences = "\n".join(map(str, report.findings))
    assert re.search(told, sentences), sentences


# How exact it is


@pytest.mark.parametrize("nbits", range(8, 0, -1))
def test_activations_of_one_sign_cost_no_digits_of_the_output(nbits):
    case = Case(nbits, 20, 21, 300, group_size=None, data=RANDOM)
    inputs = make_case(case)
    inputs = replace(inputs, x=inputs.x.abs())
    assert is_right(case, inputs, run(case, inputs))


def test_bfloat16_beyond_float16_keeps_its_digits():
    case = Case(4, M=18, N=16, least_K=256, x_dtype=BF16, data=RANDOM)
    inputs = make_case(case)
    for exponent in (-100, -20, 40, 110):
        scaled = replace(inputs, x=inputs.x.sign() * 2.0**exponent)
        y = run(case, scaled)
        assert is_right(case, scaled, y) and y.isfinite().all()


@both_types
@pytest.mark.parametrize("case", EVERY_WAY, ids=str)
def test_what_is_no_number_stays_in_its_row_or_column(case, x_dtype):
    case = replace(case, x_dtype=x_dtype)
    inputs = make_case(case)
    inputs.x[1, 7], inputs.scales[3] = torch.nan, torch.nan
    lost = torch.zeros(case.M, 33, dtype=torch.bool)
    lost[:, 3] = lost[1] = True
    assert torch.equal(run(case, inputs).isnan(), lost)


# Calls


@pytest.mark.parametrize("case", EVERY_WAY, ids=str)
def test_your_table_is_what_runs(case):
    inputs, kernel = make_case(case), case.load(replace=pair_table(range(-8, 8)))
    y = run(case, replace(inputs, zeros=inputs.zeros - 8), kernel=kernel)
    assert is_right(case, inputs, y)


def test_the_text_that_decodes_is_that_of_the_gemv():
    for hole in ("dequant_pair", "prepare_pairs"):
        assert sources.hole(hole, MMA) == sources.hole(hole, "gemv_a16w3to8_fast")


def test_any_number_of_rows_may_follow_another():
    kernel = IN_SPLITS.load()
    for M in (70, 5, 33, 0, 5):
        case = replace(IN_SPLITS, M=M)
        inputs = make_case(case)
        y = kernel(**inputs.operands(case, kernel))
        assert torch.equal(y, inputs.product(case).exact().half())


@pytest.mark.parametrize("case", EVERY_WAY, ids=str)
def test_operations_are_counted(case):
    operands = make_case(case).operands(case, case.load())
    with case.as_planned():
        assert case.load().count_operations(**operands).all > 0


def test_an_older_gpu_is_refused_in_one_sentence(monkeypatch):
    kernel = load(MMA, 4, BF16)
    operands = kernel.pack(torch.zeros(8, 128, dtype=torch.uint8), 1.0, 0.0)
    monkeypatch.setattr(kernel_module, "machine_of", lambda device: Machine((7, 5), 40))
    told = "^gemm_a16wn_mma needs compute capability 8.0 or more, and this GPU has 7.5: use gemv_a"
    with pytest.raises(ValueError, match=told):
        kernel(torch.ones(9, 128, dtype=BF16), *operands)
