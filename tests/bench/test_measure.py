"""A time is kept only where it can be believed: every fraud is planted, every reason is read."""

import pytest
import torch
from frauds import FRAUDS
from replayed_calls import ReplayedCalls

from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.card import Card
from gemlite_lab.bench.measuring import Refused, measure
from gemlite_lab.bench.problem import Problem, WeightFormat

PROBLEM = Problem(WeightFormat(16), M=3, N=40, K=256)
CARD = Card("a card of a test", l2_bytes=40_000, read_gb_per_s=1000, matmul_tflops=1, driver="")


def right(x, W):
    return (x.double() @ W.double().T).to(x.dtype)


def candidate(call, dtype=torch.float16):
    def prepare(W, problem):
        return Prepared(lambda x: call(right, x, W), (W,))

    return Candidate("candidate", "torch", dtype, lambda problem: "", prepare)


def measured(call, problem=PROBLEM, clock=ReplayedCalls, dtype=torch.float16, card=CARD):
    generator = torch.Generator().manual_seed(1)
    return measure(candidate(call, dtype), problem, card, generator, clock)


def honest(right, x, W):
    return right(x, W)


def test_an_honest_kernel_is_measured():
    result = measured(honest)
    assert result.timing.p20 == result.timing.p50 == result.timing.p80 == 1.0
    assert result.copies == 8 and 8 * 40 * 256 * 2 > 4 * CARD.l2_bytes
    assert result.nbytes == 2 * (40 * 256 + 3 * 256 + 3 * 40)
    assert 0 < result.error < 2**-11


def test_of_a_transposed_product_y_has_as_many_columns_as_w():
    problem = Problem(WeightFormat(16), M=128, N=40, K=256, transposed=True)

    def call(right, x, W):
        return right(x, W.T)

    assert measured(call, problem).copies == 4  # with y of 40 columns it would be 6


def test_of_large_batches_fewer_copies_exceed_the_l2_because_y_goes_through_it_too():
    problem = Problem(WeightFormat(16), M=128, N=40, K=256)
    copies, own_bytes = measured(honest, problem).copies, 2 * (40 * 256 + 128 * 40)
    assert copies == 6 and 6 * own_bytes > 4 * CARD.l2_bytes > 5 * own_bytes


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_a_fraud_is_refused_with_its_reason(fraud):
    with pytest.raises(Refused) as caught:
        measured(fraud())
    assert FRAUDS[fraud] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_work_on_another_stream_is_refused():
    def call(right, x, W):
        return None if ReplayedCalls.is_replaying else right(x, W)

    with pytest.raises(Refused, match="its work is not on the current stream"):
        measured(call)


def test_a_result_above_the_limit_is_refused():
    class TooFast(ReplayedCalls):
        microseconds = 0.01

    with pytest.raises(Refused, match="2048 GB/s, and this card reads 1000: it does not read them"):
        measured(honest, clock=TooFast)


def test_a_result_at_the_limit_is_kept():
    class AtTheLimit(ReplayedCalls):
        microseconds = 20.48e-3

    assert measured(honest, clock=AtTheLimit).timing.p50 == 20.48e-3


def test_a_result_a_little_above_the_limit_is_refused():
    class Above(ReplayedCalls):
        microseconds = 20.48e-3 / 1.03

    with pytest.raises(Refused, match="it does not read them all from memory"):
        measured(honest, clock=Above)


def test_weights_named_twice_count_once_and_none_are_refused():
    def with_reads(*reads):
        def prepare(W, problem):
            return Prepared(lambda x: right(x, W), tuple(read(W) for read in reads))

        return Candidate("candidate", "torch", torch.float16, lambda problem: "", prepare)

    def measure_it(kernel):
        return measure(kernel, PROBLEM, CARD, torch.Generator().manual_seed(1), ReplayedCalls)

    twice = measure_it(with_reads(lambda W: W, lambda W: W, lambda W: W.expand(4, 40, 256)))
    assert twice.nbytes == measured(honest).nbytes
    with pytest.raises(Refused, match="it names no tensors that it reads"):
        measure_it(with_reads())


def test_the_y_of_the_last_timed_replay_is_checked():
    class WrongInTheEnd(ReplayedCalls):
        replays = 0

        def replay(self):
            self.replays += 1
            us = super().replay()
            if self.replays == 22:
                self.outputs[-1][2, 39] += 1
            return us

    with pytest.raises(Refused, match="one element is off by"):
        measured(honest, clock=WrongInTheEnd)


def test_one_wrong_element_among_many_is_called_that_and_no_cache():
    def call(right, x, W):
        y = right(x, W).clone()
        y[7, 300] += 1
        return y

    problem = Problem(WeightFormat(16), M=64, N=2048, K=64)
    with pytest.raises(Refused, match="wrong result: .* one element is off by"):
        measured(call, problem)


def test_the_error_is_the_largest_of_all_copies_before_and_after():
    """Each copy is a little wrong once, before or in the timed replays."""
    for when in (1, 22):
        for copy in (0, 7):

            class OffOnce(ReplayedCalls):
                replays = 0

                def replay(self, when=when, copy=copy):
                    self.replays += 1
                    us = super().replay()
                    if self.replays == when:
                        self.outputs[copy] *= 1.004
                    return us

            assert 3.5e-3 < measured(honest, clock=OffOnce).error < 4.5e-3


def test_each_replay_has_another_x():
    seen = []

    def call(right, x, W):
        seen.append(float(x.sum()))
        return right(x, W)

    result = measured(call)
    assert len(set(seen)) == 1 + 21 and len(seen) == (2 + 21) * result.copies


def test_a_kernel_that_knows_one_answer_by_heart_is_found_out():
    known = []

    def call(right, x, W):
        if not known:
            known.append(x.clone())
        return right(x, W) if torch.equal(x, known[0]) else right(-x, W)

    with pytest.raises(Refused, match="wrong result"):
        measured(call)


def test_a_wrong_group_is_far_above_the_tolerance():
    problem = Problem(WeightFormat(4, 128), M=2, N=64, K=16384)

    def one_group_wrong(x, q):
        W = q.dequantize(torch.float64)
        W[:, :128] = (q.W_q[:, :128] - q.zeros[:, 1:2]) * q.scales[:, 1:2].double()
        return (x.double() @ W.T).to(x.dtype)

    def prepare(q, problem):
        return Prepared(lambda x: one_group_wrong(x, q), (q.W_q,))

    wrong = Candidate("wrong", "torch", torch.float16, lambda problem: "", prepare)
    with pytest.raises(Refused, match="wrong result"):
        measure(wrong, problem, CARD, torch.Generator().manual_seed(2), ReplayedCalls)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_kernel_of_16_bit_steps_is_inside_the_tolerance(dtype):
    """Weights, products and partial sums rounded to x's type: sums over 32, then over those."""

    def call(right, x, W):
        products = (x[:, None, :] * W).reshape(len(x), len(W), -1, 32)
        return products.sum(-1).sum(-1)

    problem = Problem(WeightFormat(16), M=2, N=64, K=4096)
    assert measured(call, problem, dtype=dtype).error > 2**-12


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("weights", ["W16", "W8", "W4 g32", "W1 g64", "W3"])
def test_the_copies_of_a_problem_are_distinct_and_their_answers_known(weights, transposed):
    problem = Problem(WeightFormat.parse(weights), M=2, N=1030, K=192, transposed=transposed)
    generator = torch.Generator().manual_seed(3)
    original = problem.draw_weights(torch.float16, generator)
    x = problem.draw_x(torch.float16, generator)
    y = problem.product(x, original)
    assert y.shape == ((2, 192) if transposed else (2, 1030))
    for i in (0, 1, 5):
        copy = problem.rolled(original, i)
        dense = copy if weights == "W16" else copy.dequantize(torch.float64)
        expected = x.double() @ (dense.double() if transposed else dense.double().T)
        torch.testing.assert_close(y.roll(problem.roll_of(i), 1), expected)
        assert (i == 0) == torch.equal(expected, y)


@pytest.mark.parametrize("nbits", range(1, 9))
def test_every_code_and_zeros_beside_the_middle_occur(nbits):
    problem = Problem(WeightFormat(nbits, 32), M=2, N=64, K=512)
    generator = torch.Generator().manual_seed(5)
    q = problem.draw_weights(torch.float16, generator)
    assert len(q.W_q.unique()) == 2**nbits
    middle = 2 ** (nbits - 1)
    around = {middle - 1, middle, min(middle + 1, 2**nbits - 1)}
    assert set(q.zeros.unique().tolist()) == around
    assert len(q.scales.unique()) > 500 and torch.equal(q.scales.half().float(), q.scales)
    symmetric = problem.draw_weights(torch.float16, generator, is_symmetric=True)
    assert symmetric.zeros.unique().tolist() == [middle]
    assert problem.draw_x(torch.float16, generator).unique().numel() > 500


def test_of_each_pair_of_sparse_weights_one_is_zero():
    problem = Problem(WeightFormat.parse("W7g32sparse"), M=1, N=64, K=1024)
    W = problem.draw_weights(torch.float16, torch.Generator().manual_seed(6)).dequantize()
    first, second = W.reshape(64, -1, 2, 32).unbind(2)
    assert ((first == 0) | (second == 0)).all()
    assert 0.4 < (first != 0).float().mean() < 0.6


def test_operands_of_an_integer_kernel_are_integers():
    problem = Problem(WeightFormat(8), M=2, N=64, K=1024)
    generator = torch.Generator().manual_seed(7)
    q, x = problem.draw_weights(torch.int8, generator), problem.draw_x(torch.int8, generator)
    assert q.scales.unique().tolist() == [1.0] and torch.equal(q.zeros, q.zeros.round())
    assert x.dtype == torch.int8 and {-128, 127} <= set(x.unique().tolist())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("nbits", [8, 4, 2, 1])
def test_a_kernel_that_forgets_the_zeros_is_refused(dtype, nbits):
    problem = Problem(WeightFormat(nbits, 128), M=2, N=64, K=1024)

    def prepare(q, problem):
        W = (q.W_q.double() - 2 ** (nbits - 1)) * q.scales.double().repeat_interleave(128, 1)
        return Prepared(lambda x: (x.double() @ W.T).to(dtype), (q.W_q,))

    wrong = Candidate("wrong", "torch", dtype, lambda problem: "", prepare)
    with pytest.raises(Refused, match="wrong result"):
        measure(wrong, problem, CARD, torch.Generator().manual_seed(2), ReplayedCalls)


def test_fresh_operands_in_every_run():
    first, second = (
        PROBLEM.draw_x(torch.float16, torch.Generator().manual_seed(s)) for s in (1, 2)
    )
    assert not torch.equal(first, second)


@pytest.mark.parametrize("text", ["W4g128", "W4 g128", "W16", "W1", "W7sparse", "W7 g64 sparse"])
def test_weights_are_written_as_they_are_shown(text):
    format = WeightFormat.parse(text)
    assert WeightFormat.parse(str(format)) == format


@pytest.mark.parametrize("text", ["4", "W9", "W0", "W16g128", "W4g0", "w4", "W4 g128 ", "W4sparse"])
def test_other_weights_get_one_sentence(text):
    with pytest.raises(ValueError, match="weights are written W4g128, W8, W7sparse or W16, got"):
        WeightFormat.parse(text)
