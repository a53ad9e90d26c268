"""The time of a kernel on a card, from what its blocks do.

    time = start + sqrt(memory² + L1² + issue² + chain²)

- memory: the bytes of the operands and of y, each once, over the measured read bandwidth.
- L1: wavefronts of the busiest multiprocessor, bank conflicts among them, one a cycle.
- issue: instructions of the busiest multiprocessor, four a cycle; two on bits, of 16 lanes each.
- chain: what one warp does, one after the other, times the waves of blocks:
    - waits for memory, `read` each. nvcc unrolls a loop and asks first for what its turns load, so
      that a warp waits once in `stretch` instructions, and never more often than it loads. A
      barrier ends the loads of a turn, and nvcc puts the turns of four barriers together.
    - copies into shared memory, by a loop that nvcc does not unroll: each waits for its own load,
      `copy` for x, which the other blocks have brought into the L2, `read` for the rest.
    - instructions, `cycles` each.

Terms overlap in part; the root of the squares lies between their sum and the largest. Words that a
warp asked for a step early come while it computes: it waits for the first ones alone, which the
start then has, and the terms overlap better, by the fourth root of the fourth powers. Blocks of a
next wave start with nothing on its way, so that this holds for a single wave.
"""

import math
from dataclasses import dataclass

_SCHEDULERS = 4  # of a multiprocessor; each issues one instruction a cycle
_BIT_UNITS = 2  # instructions a cycle of those on bits
_SHARED_BYTES = 227 * 1024  # of a multiprocessor
_RESERVED_BYTES = 1024  # for each block
_MOST_BLOCKS = 32
_TURNS = 4  # with a barrier, that nvcc puts together
_LATE, _EARLY = 2, 4  # the powers of a kernel's terms, by when it asks for its words


@dataclass(frozen=True)
class Card:
    """The measured facts of a GPU. read_gb_per_s: GB = 1e9 bytes."""

    name: str
    multiprocessors: int
    mhz: float
    read_gb_per_s: float


@dataclass(frozen=True)
class Parameters:
    """What tools/calibrate_estimate.py finds.

    start, read, copy: microseconds. cycles: of a warp for an instruction. stretch: a warp's
    instructions from one wait to the next.
    """

    start: float
    read: float
    copy: float
    cycles: float
    stretch: float


@dataclass(frozen=True)
class Term:
    """One term of the time, in microseconds, and how it comes about."""

    name: str
    us: float
    why: str


def waves_of(counts, card):
    """How often a multiprocessor takes as many blocks as it holds at once."""
    by_shared = _SHARED_BYTES // (counts.shared_bytes + _RESERVED_BYTES)
    by_threads = counts.resident_threads // counts.threads
    resident = max(1, min(by_shared, by_threads, _MOST_BLOCKS))
    return math.ceil(counts.blocks / card.multiprocessors / resident)


def power_of(counts, card):
    """The power that the terms are raised to before they are added."""
    return _EARLY if counts.asks_ahead and waves_of(counts, card) == 1 else _LATE


def waits_of(counts, parameters):
    """(waits of a warp for memory, its copies of x)."""
    copies_of_x = min(counts.copies, counts.loads_of_x)
    others = counts.copies - copies_of_x
    if counts.asks_ahead:
        return 1, copies_of_x / counts.warps
    loads, instructions = counts.loads - counts.copies, counts.instructions / counts.warps
    in_loops = min(max(0, loads) / counts.warps, max(1, instructions / parameters.stretch))
    waits = others / counts.warps + max(in_loops, counts.rounds / _TURNS)
    return waits, copies_of_x / counts.warps


def terms(counts, card, parameters):
    """The `Term`s of a launch, start first."""
    blocks = math.ceil(counts.blocks / card.multiprocessors)  # of the busiest multiprocessor
    wavefronts = (counts.l1_cycles + counts.shared_cycles) * blocks
    issued = max(counts.instructions / _SCHEDULERS, counts.on_bits / _BIT_UNITS) * blocks
    return (
        _start(counts, card, parameters),
        Term(
            "memory",
            counts.nbytes / (card.read_gb_per_s * 1e3),
            f"{counts.nbytes:,.0f} bytes at {card.read_gb_per_s:.0f} GB/s",
        ),
        Term("L1", wavefronts / card.mhz, f"{wavefronts:,.0f} wavefronts of {blocks} blocks"),
        Term(
            "issue",
            issued / card.mhz,
            f"{counts.instructions * blocks:,.0f} instructions of {blocks} blocks, "
            f"{counts.on_bits * blocks:,.0f} on bits",
        ),
        _chain(counts, card, parameters),
    )


def time_of(found, power):
    """Microseconds of these terms, which are added after raising them to `power`."""
    start, *others = (term.us for term in found)
    return start + sum(us**power for us in others) ** (1 / power)


def _start(counts, card, parameters):
    why = "a launch, from the end of the one before"
    if power_of(counts, card) == _LATE:
        return Term("start", parameters.start, why)
    return Term("start", parameters.start + parameters.read, f"{why}, and a wait for words")


def _chain(counts, card, parameters):
    waves, instructions = waves_of(counts, card), counts.instructions / counts.warps
    waits, copies = waits_of(counts, parameters)
    if power_of(counts, card) == _EARLY:
        waits -= 1  # the start has it
    waited = waits * parameters.read + copies * parameters.copy
    return Term(
        "chain",
        waves * (waited + instructions * parameters.cycles / card.mhz),
        f"{waves} waves of a warp's {waits:,.0f} waits for memory, {copies:,.0f} copies of x and "
        f"{instructions:,.0f} instructions, one after the other",
    )
