"""What a whole call of a kernel asks for, counted by the simulator, beside the least it could."""

from dataclasses import dataclass

from gemlite_edu.kernels.plan import WARP_SIZE


@dataclass(frozen=True)
class Counts:
    """The counts of one call.

    moved: bytes of all sectors that warps ask for. least: bytes of x, W, scales, zeros and y, each
    once. instructions: a warp's operations and requests, for 32 weights that it serves; None if
    they are not counted. wavefronts: of shared memory. fewest: without bank conflicts.
    """

    moved: int
    least: int
    instructions: float | None
    wavefronts: int
    fewest: int


def counts_of(report, weights, operations=None):
    """The `Counts` of an inspected run. weights: how many; operations: of all warps, or None."""
    shared = [line for line in report.lines if line.space == "shared"]
    instructions = None
    if operations is not None:
        requests = sum(line.requests for line in report.lines)
        instructions = (operations + requests) * WARP_SIZE / weights
    return Counts(
        moved=report.bytes_moved,
        least=report.least_bytes,
        instructions=instructions,
        wavefronts=sum(line.cost for line in shared),
        fewest=sum(line.least_cost for line in shared),
    )
