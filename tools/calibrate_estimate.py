"""Fit the numbers of gemlite_lab.bench.estimate to recorded kernels of an H200; a minute.

python tools/calibrate_estimate.py (needs no GPU; writes gemlite_lab/data/estimate_nvidia_h200.json)

It fits on the kernels of `is_for_calibration` alone; tests/bench/test_estimate.py tests on others.
Kernels with one or two rounds of loads do not tell how long a round is: that number is what the
ladder supposes of a read.
"""

import json
import math
from dataclasses import asdict
from datetime import date

from gemlite_edu.kernels.machine import H200
from gemlite_lab.bench import ladder
from gemlite_lab.bench.estimate.counts import count
from gemlite_lab.bench.estimate.measured_kernels import measured_kernels
from gemlite_lab.bench.estimate.model import Card, Parameters, terms, time_of
from gemlite_lab.bench.estimate.record import path_of
from gemlite_lab.bench.estimate.rung_counts import count_rung

_UNPACKED = ("gemv_a16w16_naive", "gemv_a16w16_coalesced", "gemv_a16w16_warp")
_PACKED = {"gemv_a16wn_fp32": ("W8", "W4", "W1", "W4 g128")}
_RUNGS = ("tensor cores", "16 bytes a load")
_SHAPES = ((4096, 4096), (8192, 8192), (16384, 16384), (4096, 14336))
_READ_US = 0.7
_FIRST = Parameters(start=2.0, request=0.02, round=_READ_US, cycles=4.0)
_FITTED = ("start", "request", "cycles")
_ROUNDS = 60
_STANDARD_ERRORS = 3  # other kernels differ more than those it was fitted to


def is_for_calibration(row):
    """True for what the fit may see: three unpacked GEMVs, one packed one, two slow rungs."""
    return (row.N, row.K) in _SHAPES and (
        row.kernel in (*_UNPACKED, *_RUNGS) or row.weights in _PACKED.get(row.kernel, ())
    )


def card():
    """The H200 as the measurement of the ladder found it."""
    row = ladder.recorded()[0]
    return Card(row.device, H200.multiprocessors, row.sm_mhz, row.read_gb_per_s)


def counts_of(row):
    """The `BlockCounts` of a recorded kernel."""
    kernel = row.load()
    return (count_rung if isinstance(kernel, ladder.RungKernel) else count)(kernel, row.N, row.K)


def errors(cases, parameters):
    """The logarithms of estimate / measurement."""
    where = card()
    return [math.log(time_of(terms(counts, where, parameters)) / row.us) for row, counts in cases]


def loss(cases, parameters):
    """What the fit minimizes: the mean of the absolute errors, and of half their squares."""
    found = errors(cases, parameters)
    return sum(abs(e) + e * e / 2 for e in found) / len(found)


def fitted(cases):
    """The `Parameters` of the smallest loss, by trying each alone in ever smaller steps."""
    best, steps = asdict(_FIRST), dict.fromkeys(_FITTED, 1.3)
    least = loss(cases, _FIRST)
    for _ in range(_ROUNDS):
        for name in steps:
            tried = [best | {name: best[name] * step} for step in (steps[name], 1 / steps[name])]
            losses = [loss(cases, Parameters(**one)) for one in tried]
            if min(losses) < least:
                least, best = min(losses), tried[losses.index(min(losses))]
            else:
                steps[name] **= 0.6
    return Parameters(**{name: float(f"{value:.3g}") for name, value in best.items()})


def main():
    cases = [(row, counts_of(row)) for row in measured_kernels() if is_for_calibration(row)]
    parameters = fitted(cases)
    found = errors(cases, parameters)
    spread = math.sqrt(sum(e * e for e in found) / len(found))
    record = {
        "date": str(date.today()),
        "card": asdict(card()),
        "parameters": asdict(parameters),
        "factor": round(math.exp(_STANDARD_ERRORS * spread), 2),
        "rows": [row.key for row, _ in cases],
    }
    path_of("H200").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(parameters, "factor", record["factor"], "on", len(cases), "kernels")
    print(f"the largest error is {math.exp(max(map(abs, found))):.2f}-fold")


if __name__ == "__main__":
    main()
