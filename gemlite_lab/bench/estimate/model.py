"""The time of a kernel on a card, from what its blocks do.

    time = start + sqrt(memory² + L1² + issue² + chain²)

- start: a launch, and the copies of x that all blocks make before they ask for weights.
- memory: the bytes of the operands and of y, each once, over the measured read bandwidth.
- L1: wavefronts of the busiest multiprocessor, bank conflicts among them, one a cycle.
- issue: instructions of the busiest multiprocessor, four a cycle; two on bits, of 16 lanes each.
- chain: what one warp does, one after the other, times the waves of blocks:
    - waits for weights, `read` each: see waits.py.
    - waits for x, `near` each, in loops that load x alone: other blocks brought it into the L2.
    - instructions, `cycles` each, and the wavefronts of the warp's own requests.

Terms overlap in part; the root of the squares lies between their sum and the largest. Words that a
warp asked for a step early come while it computes: it waits for the first ones alone, which the
start then has, and the terms overlap better, by the fourth root of the fourth powers. Blocks of a
next wave start with nothing on its way, so that this holds for a single wave.
"""

import math
from dataclasses import dataclass

from gemlite_lab.bench.estimate.waits import waits_for_weights, waits_for_x

_SCHEDULERS = 4  # of a multiprocessor; each issues one instruction a cycle
_BIT_UNITS = 2  # instructions a cycle of those on bits
_SHARED_BYTES = 227 * 1024  # of a multiprocessor
_RESERVED_BYTES = 1024  # for each block
_MOST_BLOCKS = 32
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

    start, read, near: microseconds of a launch, and of waits for the memory and for the L2. cycles:
    of a warp for an instruction. unrolled: instructions of the turns of a loop that nvcc puts
    together. registers: of a thread, for words on their way and for what belongs to their streams.
    """

    start: float
    read: float
    near: float
    cycles: float
    unrolled: float
    registers: float


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
    if power_of(counts, card) == _EARLY:
        return Term("start", parameters.start + parameters.read, "a launch, and a wait for words")
    waits = waits_for_x(counts)
    us = parameters.start + waits * parameters.near
    return Term("start", us, f"a launch, and {waits:,.0f} waits for x" if waits else "a launch")


def _chain(counts, card, parameters):
    waves, instructions = waves_of(counts, card), counts.instructions / counts.warps
    far, near = waits_for_weights(counts, parameters), waits_for_x(counts)
    if power_of(counts, card) == _EARLY:
        far = 0  # the start has it
    wavefronts = (counts.l1_cycles + counts.shared_cycles) / counts.warps
    worked = (instructions * parameters.cycles + wavefronts) / card.mhz
    later = (waves - 1) * near  # the start has those of the first wave
    why = (
        f"{waves} waves of a warp's {far:,.0f} waits for memory, {instructions:,.0f} instructions "
        f"and {wavefronts:,.0f} wavefronts"
    )
    return Term(
        "chain",
        waves * (far * parameters.read + worked) + later * parameters.near,
        f"{why}, and {later:,.0f} waits for x" if later else why,
    )
