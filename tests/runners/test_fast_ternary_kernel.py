"""gemm_a8w2_fast in the simulator: every cut, its plans, mistakes in its text, what it refuses."""

import random
import re
from collections import Counter

import pytest
import torch
from simulator.test_claims import claims_of, is_true
from ternary_cases import FAST, FP16, gets_it_wrong, inspect, is_right, make_case, run, with_text
from ternary_fast_cases import CASES, CUTS, Case, plan_on_an_h200

from gemlite_edu import load
from gemlite_edu.kernels.machine import AMPERE, H200, SIMULATED
from gemlite_edu.kernels.plan import Plan
from gemlite_edu.kernels.ternary_fast import _SPLITS, LONGEST_K, _Cut

every_cut = pytest.mark.parametrize("cut", CUTS, ids=str)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs))


@every_cut
def test_it_is_safe(cut):
    assert inspect(Case(M=cut[0] + 3, N=83, K=1340, y_dtype=FP16, cut=cut)) == ((), True)


@every_cut
def test_the_claims_are_true(cut):
    tokens, warpgroups, tiles, block_k = cut
    case = Case(M=tokens, N=64 * warpgroups * tiles, K=4 * block_k, cut=cut)
    with case.as_launched():
        report = case.load().inspect(**make_case(case).operands(case))
    claims = claims_of(case.load().source)
    assert len(claims) == 3
    for claim in claims:
        assert is_true(claim, report), f"{claim}\n{report}"


def test_some_cases_have_more_steps_than_stages():
    for cut in CUTS:
        cases = [case for case in CASES if case.cut == cut]
        assert any(case.K / cut[3] > case.plan().product.defines["STAGES"] for case in cases), cut


def test_the_longest_sum_fits_into_int32_and_a_longer_one_is_refused():
    x = torch.full((1, LONGEST_K), -128, dtype=torch.int8)
    W_packed = torch.zeros(16, LONGEST_K // 16, dtype=torch.int32)  # weights of -2
    kernel = load(FAST)
    assert kernel(x, W_packed, N=1).item() == 256 * LONGEST_K
    longer, words = torch.zeros(1, LONGEST_K + 32, dtype=torch.int8), LONGEST_K // 16 + 2
    with pytest.raises(
        ValueError, match=rf"K up to {LONGEST_K}, .* got 131072: use gemm_a8w2_wmma"
    ):
        kernel(longer, torch.zeros(16, words, dtype=torch.int32))


def test_other_gpus_are_refused():
    for capability in (AMPERE, (10, 0), (12, 0)):
        machine = H200._replace(capability=capability)
        with pytest.raises(ValueError, match="needs compute .* 9.0, .*: use gemm_a8w2_wmma"):
            plan_on_an_h200(64, 4096, 4096, machine=machine)


# How it is cut


@pytest.mark.parametrize("largest_cluster", [1, 2, 4, 8])
def test_a_launch_fits_the_machine(largest_cluster):
    choose = random.Random(largest_cluster)
    for _ in range(300):
        M, N = choose.randint(1, 3000), choose.randint(1, 2 ** choose.randint(1, 15))
        K = 32 * choose.randint(1, 500)
        machine = H200._replace(
            multiprocessors=choose.choice((1, 78, 132)), largest_cluster=largest_cluster
        )
        launch = plan_on_an_h200(M, N, K, machine=machine).product
        assert launch.shared_bytes <= 227 * 1024 and launch.threads <= 1024
        assert launch.cluster <= largest_cluster and launch.grid[0] % launch.cluster == 0
        assert launch.defines["STAGES"] >= 4


@every_cut
@pytest.mark.parametrize("splits", _SPLITS)
def test_every_step_of_every_tile_is_taken_once(cut, splits):
    """As own_share of gemm_a8w2_stages.cuh says."""
    cut = _Cut(*cut, splits)
    for M, N, K in ((1, 1, 32), (130, 300, 2080), (300, 70, 4096)):
        columns, rows = cut.grid(M, N)
        steps, taken = cut.steps(K), Counter()
        for block in range(columns):
            tile, split = divmod(block, splits)
            begin, end = steps * split // splits, steps * (split + 1) // splits
            taken.update((tile, step) for step in range(begin, end))
        tiles = -(-N // cut.outputs)
        assert taken == Counter((tile, step) for tile in range(tiles) for step in range(steps))
        assert rows * cut.tokens >= M > (rows - 1) * cut.tokens


@pytest.mark.parametrize("M", [16, 64, 512, 2048])
@pytest.mark.parametrize("N, K", [(2560, 2560), (4096, 14336), (14336, 4096)])
def test_an_h200_is_filled(N, K, M):
    columns, rows = plan_on_an_h200(M, N, K).product.grid
    assert columns * rows >= 78


FASTEST = {  # {(M, N, K): the cut that clearly was the fastest on an H200}
    (16, 2560, 6912): (16, 1, 1, 256, 8),
    (128, 4096, 4096): (64, 1, 1, 128, 2),
    (128, 2560, 6912): (64, 2, 2, 128, 4),
    (1024, 4096, 4096): (128, 2, 2, 128, 1),
    (512, 4096, 14336): (128, 2, 2, 128, 2),
    (2048, 2560, 2560): (128, 2, 1, 128, 1),
}


@pytest.mark.parametrize("problem, cut", FASTEST.items(), ids=str)
def test_the_fastest_cut_is_planned(problem, cut):
    assert plan_on_an_h200(*problem) == Plan((_Cut(*cut).launch(*problem, torch.int32),))


def test_the_simulator_has_clusters_of_one():
    assert plan_on_an_h200(16, 256, 8192).product.cluster > 1
    assert plan_on_an_h200(16, 256, 8192, machine=SIMULATED).product.cluster == 1


# Mistakes

MISTAKES = {
    "no sign": ("0xC0C0C0C0, 0x80808080", "0xC0C0C0C0, 0"),
    "bits of the neighbour": ("0xC0C0C0C0, 0x8", "0xE0E0E0E0, 0x8"),
    "the first codes for all": (">> threadIdx.x % 4 * 2;", ">> 0;"),
    "codes of other lanes": ("% 4 * 2;\n  #pragma", "/ 4 % 4 * 2;\n  #pragma"),
    "halves of a tile": ("* 2 + chunk % 2", "* 2"),
    "eights of a tile": ("n % TILE_N / 8 * 2", "0"),
    "the first band for all": ("from.words[n / TILE_N]", "from.words[0]"),
    "the first tile of a band for all": ("tile * PIECES_OF_A_TILE + eight", "eight"),
    "outputs a row off": ("+ n % 8);", "+ n % 4);"),
    "x of the first k": ("x + i * 2 * X_STRIDE", "x"),
    "x beyond K": ("m < from.M && k < from.K", "m < from.M"),
    "x beyond M": ("m < from.M && k < from.K", "k < from.K"),
    "words beyond N": ("band < num_bands && piece", "piece"),
    "the first tokens for all": ("blockIdx.y) * TOKENS", "0)"),
    "the first outputs for all": ("tile * OUTPUTS,", "0,"),
    "one step too few": ("step < own.steps; ++step", "++step < own.steps;"),
    "one stage for all": ("stages[step % STAGES], sums", "stages[0], sums"),
    "sums 64 times too large": ("sum >> WEIGHT_SHIFT", "sum"),
    "tokens in another order": ("threadIdx.x % 4 * 2 + i % 2", "threadIdx.x % 4 + i % 2 * 4"),
    "outputs in another order": ("[j % 2 * 2 + i % 2]", "[i % 2 * 2 + j % 2]"),
    "the last output left out": ("n + j < to.N", "n + j < to.N - 1"),
    "the last token left out": ("m < to.M", "m < to.M - 1"),
    "the first token's scale": ("token_scales[min(m, to.M - 1)]", "token_scales[0]"),
    "the first output's scale": ("scales[min(n + j, to.N - 1)]", "scales[0]"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    few = [case for case in CASES if case.M * case.N * case.K < 10**7 and case.y_dtype == FP16]
    assert any(gets_it_wrong(case, *mistake) for case in random.Random(0).sample(few, 6))


UNSAFE = {
    "no barrier": ("    __syncthreads();\n    copy_step", "    copy_step", "barrier|race|thread"),
    "a stage less": ("AHEAD = STAGES - 2", "AHEAD = STAGES", "copy|copies|race"),
    "a batch less waited for": ("(AHEAD - 1)", "(AHEAD)", "copy.*has not delivered"),
    "sums into a stage that is read": (
        "  __syncthreads();  // all",
        "  // all",
        "barrier|race|thread",
    ),
    "outputs beyond y": ("m < to.M && n + j < to.N", "m < to.M", r"y\["),
}


@pytest.mark.parametrize("mistake", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_inspection_finds_what_is_unsafe(mistake):
    right, wrong, told = mistake
    case = Case(M=9, N=33, K=2300)  # so that the last step has the first stage
    with case.as_launched():
        report = with_text(case, right, wrong).inspect(**make_case(case).operands(case))
    sentences = "\n".join(map(str, report.findings))
    assert re.search(told, sentences), sentences
