"""Floor 5: the way from a scalar GEMV to the memory limit, one idea a rung, and every rung runs."""

from gemlite_edu.ladder.kernel import RungKernel
from gemlite_edu.ladder.record import counted, path_of, recorded, write, write_counts
from gemlite_edu.ladder.rungs import Rung, rungs

__all__ = [
    "Rung",
    "RungKernel",
    "counted",
    "path_of",
    "recorded",
    "rungs",
    "write",
    "write_counts",
]
