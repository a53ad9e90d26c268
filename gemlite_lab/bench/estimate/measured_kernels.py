"""The recorded kernels that the model covers: what was measured, and the `Kernel` it was."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.runners.load import load
from gemlite_lab.bench import ladder
from gemlite_lab.bench.problem import WeightFormat

_BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "data" / "bench_nvidia_h200.csv"


class Measured(NamedTuple):
    """One measured kernel. kernel: its name in the record. us: the median time."""

    kernel: str
    weights: str
    N: int
    K: int
    us: float

    @property
    def key(self):
        """What names it in the record of a calibration."""
        return self[:4]

    def load(self):
        """The `Kernel` that was measured."""
        return _loaded(self.kernel, self.weights)


@cache
def _loaded(name, weights):
    form = WeightFormat.parse(weights)
    if name not in KERNELS:
        rung = next(rung for rung in ladder.rungs(form.nbits) if rung.name == name)
        if rung.shape is not None:
            return ladder.RungKernel(rung, form.nbits)
        name = rung.kernel
    nbits = form.nbits if KERNELS[name].takes_nbits else None
    return load(name, nbits=nbits, group_size=form.group_size)


def measured_kernels():
    """Every `Measured` GEMV of the benchmarks with one row of x, and every rung of the ladder."""
    with _BENCHMARKS.open(encoding="utf-8") as file:
        rows = [
            Measured(r["kernel"], r["weights"], int(r["N"]), int(r["K"]), float(r["p50_us"]))
            for r in csv.DictReader(file)
            if (r["kernel"] in KERNELS and r["M"] == "1" and not r["refused"])
        ]
    rungs = [Measured(m.kernel, m.weights, m.N, m.K, m.p50_us) for m in ladder.recorded()]
    return [*rows, *rungs]
