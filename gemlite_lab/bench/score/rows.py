"""The `Measurement` of a scored kernel: measured on this GPU, or estimated for an H200."""

import hashlib
from functools import cache, partial

from gemlite_edu.kernels.holes import without_comments
from gemlite_edu.runners.timing import Timing, copies_needed
from gemlite_lab.bench import ladder
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.card import Card, current_card
from gemlite_lab.bench.estimate import NotModelled
from gemlite_lab.bench.estimate.record import calibration
from gemlite_lab.bench.measuring import Result
from gemlite_lab.bench.operands import operands_of
from gemlite_lab.bench.run import measured, row_of

_MOST_COPIES = 1000  # of the weights; each is packed by itself, and called in one graph
_this_card = cache(current_card)


def measured_row(kernel, problem, nbytes):
    """The row of `make bench` for `kernel` on this machine's GPU; a refused time has a reason.

    nbytes: of all operands and y.
    """
    card, candidate = _this_card(), candidate_of(kernel)
    copies = copies_needed(nbytes, card.l2_bytes)
    if copies <= _MOST_COPIES:
        return measured(candidate, problem, card)
    why = (
        f"not measured: it takes {copies:,} copies of so few weights to keep them out of the "
        "caches; take a larger N or K"
    )
    return row_of(candidate, problem, card, None, why, seed=0)


def estimated_row(kernel, problem, estimated, nbytes):
    """A row as `measured_row` gives it, of an `Estimate`; p20 and p80 are its interval's ends.

    nbytes: of all operands and y. For `NotModelled` the row has the reason in place of a time.
    """
    facts = calibration()[0]
    matmul_tflops = ladder.recorded(facts.name)[0].matmul_tflops
    card = Card(facts.name, 0, facts.read_gb_per_s, matmul_tflops, driver="")
    candidate = candidate_of(kernel)
    if isinstance(estimated, NotModelled):
        return row_of(candidate, problem, card, None, str(estimated), seed=0)
    timing = Timing(estimated.low, estimated.us, estimated.high)
    result = Result(timing, nbytes, error=0.0, copies=0, mhz=(facts.mhz, 0))
    return row_of(candidate, problem, card, result, "", seed=0)


def candidate_of(kernel):
    """The learner's kernel as the harness takes it."""
    code = " ".join(without_comments(kernel.source).split())
    build = hashlib.sha256(code.encode()).hexdigest()[:8]
    prepare = partial(_prepared, kernel)
    return Candidate(kernel.name, "gemlite_edu", kernel.x_dtype, _takes_all, prepare, build=build)


def _takes_all(problem):
    return ""


def _prepared(kernel, weights, problem):
    operands = operands_of(kernel, weights)
    return Prepared(lambda x: kernel(x, *operands), operands)
