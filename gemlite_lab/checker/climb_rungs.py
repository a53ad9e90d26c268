"""The five rungs of the exercise `climb`: the simulator's counts of one call decide each."""

from collections.abc import Callable
from dataclasses import dataclass

from gemlite_edu.kernels.plan import WARP_SIZE

_BLOCK_ROWS = 32
_NEAR = 1.25  # times the least
_FIRST = "rung 1, right: every output is right, and the simulator finds no fault"


@dataclass(frozen=True)
class Rung:
    """A rung above the first. rule: one sentence, with {count} for a kernel's number.

    count(report, x, W), of an inspected call, must be at most `most`.
    """

    name: str
    rule: str
    most: float
    count: Callable


def standing(report, x, W):
    """(how many rungs a right kernel has climbed, text): the text names them and the next one.

    report: of an inspected call with this x and these words. No rung may be left out.
    """
    counts = [rung.count(report, x, W) for rung in RUNGS]
    missed = (i for i, rung in enumerate(RUNGS) if counts[i] > rung.most)
    climbed = next(missed, len(RUNGS))
    told = [_told(*numbered) for numbered in enumerate(zip(RUNGS, counts, strict=True), 2)]
    lines = [_FIRST, *told[:climbed], *(f"next: {line}" for line in told[climbed : climbed + 1])]
    return climbed + 1, "\n".join(f"  {line}" for line in lines)


def _told(number, rung_and_count):
    rung, count = rung_and_count
    rule = rung.rule.format(count=f"{count:.2f}")
    return f"rung {number}, {rung.name}: {rule} (at most {rung.most:g})"


def _lines(report, name):
    return [line for line in report.lines if (line.name, line.op) == (name, "load")]


def _times_the_fewest_sectors(report, x, W):
    lines = _lines(report, "W")
    return sum(line.cost for line in lines) / sum(line.least_cost for line in lines)


def _times_the_bytes_of_W(report, x, W):
    return sum(line.bytes_moved for line in _lines(report, "W")) / W.nbytes


def _times_x_in_a_block(report, x, W):
    blocks = -(-len(W) // _BLOCK_ROWS)
    return sum(line.bytes_asked for line in _lines(report, "x")) / (blocks * x.nbytes)


def _turns_for_32_weights(report, x, W):
    """Turns are requests to global memory and wavefronts of shared memory."""
    turns = sum(line.cost if line.space == "shared" else line.requests for line in report.lines)
    return turns * WARP_SIZE / (len(W) * x.shape[1])


RUNGS = (
    Rung(
        "side by side",
        "requests for W touch {count} times the fewest sectors",
        _NEAR,
        _times_the_fewest_sectors,
    ),
    Rung(
        "each word once",
        "the sectors of W bring {count} times its bytes",
        _NEAR,
        _times_the_bytes_of_W,
    ),
    Rung(
        "x once a block",
        "a block reads x from global memory {count} times",
        _NEAR,
        _times_x_in_a_block,
    ),
    Rung(
        "two products a turn",
        "32 weights take {count} turns",
        0.8,
        _turns_for_32_weights,
    ),
)
