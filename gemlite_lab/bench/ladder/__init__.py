"""The ladder from a scalar GEMV to the memory limit: each rung adds one idea, and each one runs."""

from gemlite_lab.bench.ladder.kernel import RungKernel
from gemlite_lab.bench.ladder.record import counted, path_of, recorded, write, write_counts
from gemlite_lab.bench.ladder.rungs import Rung, rungs

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
