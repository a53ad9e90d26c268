"""The loops of a kernel that load x or weights, as its warps run through them."""

import re
from dataclasses import dataclass

from gemlite_edu.kernels.calls_in_hole import lines_by_place

_REGISTER_BYTES, _SECTOR_BYTES = 4, 32
_BARRIER = "__syncthreads"
_FOR = re.compile(r"\bfor\b")
_STEP = re.compile(r"\bfor\s*\([^;]*;[^;]*;\s*\w+\s*[-+*/]=\s*([^)]*)\)")
_KNOWN_AT_RUN_TIME = re.compile(r"[a-z]")  # constants are numbers, or in capitals


@dataclass(frozen=True)
class Loop:
    """One loop that loads. turns: of a warp. loads: of a turn.

    registers: of a thread, for what it loads in a turn. new: loads of a turn that bring sectors of
    weights which the L1 has not; 0 in a loop that loads x alone. is_unrolled: whether nvcc puts
    turns together, for which it must know the step. has_barrier: whether a turn has one.
    """

    turns: float
    loads: float
    registers: float
    new: float
    is_unrolled: bool = True
    has_barrier: bool = False


def loops_of(source, report, executed, warps, bytes_of_weights):
    """The `Loop`s of a block of `warps` warps whose rows of W have so many bytes.

    report: its `Report`. executed: as `Operations` has it.
    """
    text, lines_of = lines_by_place(source), {}
    for line in report.lines:
        if (line.space, line.op) == ("global", "load") and line.name in ("x", "W"):
            at = _busiest(line.place, executed)
            lines_of[at] = [*lines_of.get(at, []), line]
    asked = sum(line.cost for line in report.lines if line.name == "W") * _SECTOR_BYTES
    share = min(1.0, bytes_of_weights / max(1, asked))
    return tuple(
        _loop(lines, executed[at][1], warps, share, _text_of_loop(executed[at], executed, text))
        for at, lines in lines_of.items()
    )


def _busiest(place, executed):
    """The number of the basic block that has this line of text and is executed most often."""
    return max(range(len(executed)), key=lambda at: (place in executed[at][0], executed[at][1]))


def _text_of_loop(block, executed, text):
    """The lines of a loop: its block's, or of all that are executed as often, if it has several."""
    places, times = block
    lines = [text.get(place, "") for place in places]
    if any(map(_FOR.search, lines)):
        return lines
    return [text.get(place, "") for others, found in executed if found == times for place in others]


def _loop(lines, times, warps, share, texts):
    steps = [step[1] for step in map(_STEP.search, texts) if step]
    return Loop(
        turns=times / warps,
        loads=sum(line.requests for line in lines) / times,
        registers=sum(line.requests * _registers(line) for line in lines) / times,
        new=share * sum(line.requests for line in lines if line.name == "W") / times,
        is_unrolled=not any(map(_KNOWN_AT_RUN_TIME.search, steps)),
        has_barrier=any(_BARRIER in one for one in texts),
    )


def _registers(line):
    """Registers of a thread for what a load of this line brings."""
    return max(1, line.bytes_per_lane // _REGISTER_BYTES)
