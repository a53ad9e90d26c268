"""The harness on a GPU: real streams, real graphs, real caches."""

import sys
from pathlib import Path

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.runners.timing import CudaGraphClock, time_replays
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.card import current_card
from gemlite_lab.bench.measuring import Refused, measure
from gemlite_lab.bench.problem import Problem, WeightFormat
from gemlite_lab.bench.score import NoScore, score_of

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

from frauds import FRAUDS

PROBLEM = Problem(WeightFormat(16), M=1, N=4096, K=4096)


@pytest.fixture(scope="module")
def card():
    return current_card()


def right(x, W):
    return x @ W.T


def measured(card, call, also_named=(1, 1)):
    def prepare(W, problem):
        named = torch.empty(also_named, dtype=torch.float16, device="cuda")
        return Prepared(lambda x: call(right, x, W), (W, named))

    candidate = Candidate("candidate", "torch", torch.float16, lambda problem: "", prepare)
    generator = torch.Generator("cuda")
    generator.seed()
    return measure(candidate, PROBLEM, card, generator)


def test_the_limits_of_the_card_are_plausible_and_repeat(card):
    again = current_card()
    assert again.read_gb_per_s == pytest.approx(card.read_gb_per_s, rel=0.02)
    assert again.matmul_tflops == pytest.approx(card.matmul_tflops, rel=0.1)
    assert card.driver


def test_cublas_is_measured_twice_alike(card):
    first, second = (measured(card, lambda right, x, W: right(x, W)) for _ in range(2))
    assert first.timing.p50 == pytest.approx(second.timing.p50, rel=0.1)
    assert first.timing.p20 <= first.timing.p50 <= first.timing.p80
    assert first.error < 2**-10
    assert first.nbytes / first.timing.p50 / 1e3 < card.read_gb_per_s


def test_one_copy_of_the_weights_stays_in_the_cache_and_many_do_not(card):
    """What the rotation is for: a matrix of a quarter of the L2, again and again."""
    rows = card.l2_bytes // 4 // 8192
    matrices = [torch.randn(rows, 4096, device="cuda").half() for _ in range(32)]
    x = torch.randn(4096, 1, device="cuda").half()
    one = time_replays(CudaGraphClock([lambda: matrices[0] @ x] * 32))
    many = time_replays(CudaGraphClock([lambda W=W: W @ x for W in matrices]))
    assert one.p50 < 0.9 * many.p50


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_a_fraud_is_refused_with_its_reason(card, fraud):
    with pytest.raises(Refused) as caught:
        measured(card, fraud())
    assert FRAUDS[fraud] in str(caught.value)


def test_work_on_another_stream_is_refused(card):
    other = torch.cuda.Stream()

    def call(right, x, W):
        y = torch.empty((1, 4096), dtype=torch.float16, device="cuda")
        if torch.cuda.is_current_stream_capturing():
            with torch.cuda.stream(other):
                torch.mul(W[:, :1].T, 2, out=y)
        else:
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                torch.mm(x, W.T, out=y)
        return y

    with pytest.raises(Refused, match="its work is not on the current stream"):
        measured(card, call)


def test_a_y_of_which_half_is_never_written_is_refused(card):
    def call(right, x, W):
        y = torch.empty((1, 4096), dtype=torch.float16, device="cuda")
        torch.mm(x, W[:2048].T, out=y[:, :2048])
        return y

    with pytest.raises(Refused, match="y is not written everywhere"):
        measured(card, call)


def test_a_result_above_the_limit_is_refused(card):
    """It names eight times the weights that it reads."""
    with pytest.raises(Refused, match="it does not read them all from memory"):
        measured(card, lambda right, x, W: right(x, W), (8 * 4096, 4096))


@pytest.mark.parametrize(("name", "nbits"), [("gemv_a16w16_shared", None), ("gemv_a16wn_fp32", 4)])
def test_a_score_is_measured_against_the_limit_of_this_card(card, name, nbits):
    score = score_of(load(name, nbits))
    assert score.is_measured and score.row.device == card.name and not score.row.refused
    assert score.row.read_gb_per_s == pytest.approx(card.read_gb_per_s, rel=0.02)
    assert 0.01 < score.time <= 1.02
    assert score.row.p50_us == pytest.approx(score_of(load(name, nbits)).row.p50_us, rel=0.1)


def test_a_kernel_that_is_wrong_in_the_simulator_never_reaches_the_gpu(monkeypatch):
    def no_run(*_):
        raise AssertionError("it was measured")

    monkeypatch.setattr("gemlite_lab.bench.score.scoring.measured_row", no_run)
    wrong = load("gemv_a16w16_shared").with_changed_source(
        lambda text: text.replace("sum +=", "sum -=")
    )
    with pytest.raises(NoScore, match="farther off than rounding allows"):
        score_of(wrong)
