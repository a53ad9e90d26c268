"""The time of a kernel on a card, from what its blocks do.

    time = start + sqrt(memory² + L1² + issue² + chain²)

- memory: the bytes of the operands and of y, each once, over the measured read bandwidth.
- L1: wavefronts of the busiest multiprocessor, bank conflicts among them, one a cycle.
- issue: instructions of the busiest multiprocessor, four a cycle; two on bits, of 16 lanes each.
- chain: what one warp waits for, one after the other, times the waves of blocks: `request` for each
  load from global memory, `cycles` for each instruction, `round` for each barrier with loads before
  it, because the next loads are asked for when those have come.

Terms overlap in part; the root of the squares lies between their sum and the largest. A kernel that
asks a step ahead overlaps them all: there the largest counts alone.
"""

import math
from dataclasses import dataclass

_SCHEDULERS = 4  # of a multiprocessor; each issues one instruction a cycle
_BIT_UNITS = 2  # instructions a cycle of those on bits
_SHARED_BYTES = 227 * 1024  # of a multiprocessor
_RESERVED_BYTES = 1024  # for each block
_MOST_BLOCKS = 32


@dataclass(frozen=True)
class Card:
    """The measured facts of a GPU. read_gb_per_s: GB = 1e9 bytes."""

    name: str
    multiprocessors: int
    mhz: float
    read_gb_per_s: float


@dataclass(frozen=True)
class Parameters:
    """What tools/calibrate_estimate.py finds: microseconds, and a warp's cycles an instruction."""

    start: float
    request: float
    round: float
    cycles: float


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


def terms(counts, card, parameters):
    """The `Term`s of a launch, start first."""
    blocks = math.ceil(counts.blocks / card.multiprocessors)  # of the busiest multiprocessor
    wavefronts = (counts.l1_cycles + counts.shared_cycles) * blocks
    issued = max(counts.instructions / _SCHEDULERS, counts.on_bits / _BIT_UNITS) * blocks
    waves = waves_of(counts, card)
    loads, instructions = counts.loads / counts.warps, counts.instructions / counts.warps
    waited = loads * parameters.request + counts.rounds * parameters.round
    chain = waves * (waited + instructions * parameters.cycles / card.mhz)
    return (
        Term("start", parameters.start, "a launch, from the end of the one before"),
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
        Term(
            "chain",
            chain,
            f"{waves} waves of a warp's {loads:,.0f} loads, {instructions:,.0f} instructions and "
            f"{counts.rounds:,.0f} rounds, one after the other",
        ),
    )


def time_of(found, is_ahead=False):
    """Microseconds of these terms. is_ahead: it asks for data a step early."""
    start, *others = (term.us for term in found)
    return start + (max(others) if is_ahead else math.hypot(*others))
