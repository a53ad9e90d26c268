"""Measure one kernel on one problem, or say why we cannot believe its time."""

from dataclasses import dataclass
from functools import partial

import torch

from gemlite_edu.kernels.errors import OneSentence
from gemlite_edu.runners.timing import CudaGraphClock, Timing, copies_needed, time_replays
from gemlite_lab.bench.card import clocks

# Two measurements of the read bandwidth differ by less than this factor.
LIMIT_MARGIN = 1.02
# The most that ||y - y64|| / ||y64|| may be. Kernels that add thousands of products in fp16 reach
# 4e-3. Dropping the lowest bit of 8-bit weights gives 7e-3, dropping a group of 128 far more.
TOLERANCE = 12 * 2.0**-11
# The most that |y - y64| of one element may be, in root mean squares of y64. A tile that wrongly
# holds zeros exceeds it.
ELEMENT_TOLERANCE = 12 * TOLERANCE
_LEAST_OUTPUT_BYTES = 2
_OUTPUT_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int32)


class Refused(OneSentence, ValueError):
    """The kernel ran, but its time is not worth keeping; the message says why."""


@dataclass(frozen=True)
class Result:
    """One measurement.

    timing: microseconds per call. nbytes: the bytes that the kernel must move: weights, x and y.
    error: ||y - y64|| / ||y64||, the largest of all copies, before and in the timed replays.
    copies: how many copies of the weights the calls rotated over. mhz: SM and memory clock right
    after the timed replays.
    """

    timing: Timing
    nbytes: int
    error: float
    copies: int
    mhz: tuple[int, int]


@torch.no_grad()
def measure(candidate, problem, card, generator, make_clock=CudaGraphClock):
    """The `Result` of `candidate` on `problem`, with random operands from `generator`.

    Each replay has its own x, and the y of the last timed one is checked too.
    card: a `Card`, for its L2 and its read bandwidth. make_clock: makes a clock from the calls.
    Raises `Refused`.
    """
    run = _Run(candidate, problem, card.l2_bytes, generator, make_clock)
    run.poison()
    run.clock.replay()
    error = run.check()
    timing = time_replays(run.clock, before_each=run.change_x)
    mhz = clocks()
    error = max(error, run.check())
    _refuse_above_the_limit(run.weight_bytes, timing, card)
    return Result(timing, run.nbytes, error, run.copies, mhz)


class _Run:
    """A candidate's calls on its copies of the weights, captured by a clock, and the right y."""

    def __init__(self, candidate, problem, l2_bytes, generator, make_clock):
        self._problem, self._generator = problem, generator
        self._weights = problem.draw_weights(candidate.x_dtype, generator, candidate.is_symmetric)
        self._x = problem.draw_x(candidate.x_dtype, generator)
        self._given_x = self._first_x = self._x.clone()
        first = candidate.prepare(self._weights, problem)
        self.weight_bytes = _bytes_read(first.reads)
        y_bytes = problem.M * problem.y_columns * _LEAST_OUTPUT_BYTES  # they use the L2 too
        self.copies = copies_needed(self.weight_bytes + y_bytes, l2_bytes)
        others = (problem.rolled(self._weights, i) for i in range(1, self.copies))
        prepared = [first, *(candidate.prepare(weights, problem) for weights in others)]
        self._calls = [partial(copy.call, self._x) for copy in prepared]
        self.clock = make_clock(self._calls)
        _check_outputs(self.clock.outputs, (problem.M, problem.y_columns))
        self.nbytes = self.weight_bytes + self._x.nbytes + self.clock.outputs[0].nbytes

    def change_x(self):
        """Put new numbers into the x that the calls read."""
        self._given_x = self._problem.draw_x(self._x.dtype, self._generator)
        self._x.copy_(self._given_x)

    def poison(self):
        for output in self.clock.outputs:
            output.fill_(_poison(output.dtype))

    def check(self):
        """The largest relative error of the present outputs; raises `Refused` if one is wrong."""
        if not torch.equal(self._x, self._given_x):
            raise Refused("it changes its x")
        for i, output in enumerate(self.clock.outputs):
            if _is_poison(output).any():
                raise Refused(self._why_unwritten(i))
        right = self._problem.product(self._x, self._weights)
        return max(self._error(i, right) for i in range(self.copies))

    def _error(self, i, right):
        difference = self._difference(i, right)
        error = float(difference.norm() / right.norm())
        worst = float(difference.abs().max() / right.square().mean().sqrt())
        if error <= TOLERANCE and worst <= ELEMENT_TOLERANCE:
            return error
        if error > TOLERANCE:
            self._refuse_an_earlier_answer(i, right)
        raise Refused(
            f"wrong result: its relative error is {error:.1e}, {TOLERANCE:.1e} is allowed, and "
            f"one element is off by {worst:.2g} root mean squares"
        )

    def _refuse_an_earlier_answer(self, i, right):
        if self._is_near(i, self._problem.product(self._first_x, self._weights)):
            raise Refused("x changed and y did not: it answers from a cache")
        if any(self._is_near(i, right, of_copy=other) for other in {0, self.copies - 1} - {i}):
            raise Refused("the weights changed and y did not: it answers from a cache")

    def _is_near(self, i, right, of_copy=None):
        """True if output i is the product of copy `of_copy` (or i itself) and the x of `right`."""
        difference = self._difference(i, right, of_copy)
        return bool(difference.norm() <= TOLERANCE * right.norm())

    def _difference(self, i, right, of_copy=None):
        copy = i if of_copy is None else of_copy
        return self.clock.outputs[i].double() - right.roll(self._problem.roll_of(copy), 1)

    def _why_unwritten(self, i):
        """Find out why output i still holds poison, with another poison and an ordinary call."""
        output = self.clock.outputs[i]
        nothing_written = bool(_is_poison(output).all())
        output.fill_(1)
        self.clock.replay()
        if output.isnan().any():
            return "y has NaN where the product has none"
        again = self._calls[i]()
        if again.is_cuda:
            torch.cuda.synchronize()
        if nothing_written and again.data_ptr() == output.data_ptr():
            return "it hands out the y of an earlier call again: it answers from a cache"
        if nothing_written and not again.isnan().any():
            return "its work is not on the current stream: the graph's replay left y unwritten"
        return "y is not written everywhere: what stood there before is still in it"


def _bytes_read(reads):
    """Bytes of the distinct tensors in `reads`."""
    found = {t.data_ptr(): min(t.nbytes, t.untyped_storage().nbytes()) for t in reads}
    if not sum(found.values()):
        raise Refused("it names no tensors that it reads: its weights belong in `reads`")
    return sum(found.values())


def _check_outputs(outputs, shape):
    for y in outputs:
        if not isinstance(y, torch.Tensor) or y.dtype not in _OUTPUT_TYPES:
            came = y.dtype if isinstance(y, torch.Tensor) else type(y).__name__
            raise Refused(f"a call must return y, fp16, bf16, fp32 or int32, got {came}")
        if tuple(y.shape) != shape:
            raise Refused(f"y has shape {tuple(y.shape)}, expected {shape}")
        if not (y.is_contiguous() or y.T.is_contiguous()):
            raise Refused(f"y must be dense, its strides are {y.stride()}")
    if len({y.data_ptr() for y in outputs}) < len(outputs):
        raise Refused("several calls return the same y: each must return one of its own")


def _poison(dtype):
    return torch.nan if dtype.is_floating_point else torch.iinfo(dtype).min


def _is_poison(output):
    return output.isnan() | (output == _poison(output.dtype))


def _refuse_above_the_limit(weight_bytes, timing, card):
    gb_per_s = weight_bytes / timing.p50 / 1e3
    if gb_per_s > LIMIT_MARGIN * card.read_gb_per_s:
        raise Refused(
            f"{weight_bytes:,} bytes of weights in {timing.p50:.2f} us are {gb_per_s:.0f} GB/s, "
            f"and this card reads {card.read_gb_per_s:.0f}: it does not read them all from memory"
        )
