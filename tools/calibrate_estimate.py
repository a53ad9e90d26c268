"""Fit the numbers of gemlite_lab.bench.estimate to recorded kernels of an H200; five minutes.

python tools/calibrate_estimate.py (needs no GPU; writes gemlite_lab/data/estimate_nvidia_h200.json)

It fits on the kernels of `is_for_calibration` and on the sets of variants that `_SEEN` names;
tests/bench/test_estimate.py tests on others.
"""

import json
import math
from dataclasses import asdict
from datetime import date

from gemlite_edu.kernels.machine import H200
from gemlite_lab.bench import ladder
from gemlite_lab.bench.estimate.counts import count
from gemlite_lab.bench.estimate.measured_kernels import measured_kernels
from gemlite_lab.bench.estimate.model import Card, Parameters, power_of, terms, time_of
from gemlite_lab.bench.estimate.record import path_of
from gemlite_lab.bench.estimate.rung_counts import count_rung
from gemlite_lab.lesson.variants.record import recorded

_UNPACKED = ("gemv_a16w16_naive", "gemv_a16w16_coalesced", "gemv_a16w16_warp")
_PACKED = {"gemv_a16wn_fp32": ("W8", "W4", "W1", "W4 g128")}
_RUNGS = {"32 rows a warp": "W1 g128"}
_SEEN = ("first", "second")  # the sets of variants that were recorded before this calibration
_SHAPES = ((4096, 4096), (8192, 8192), (16384, 16384), (4096, 14336))
_FIRST = Parameters(start=2.0, read=0.35, near=0.15, cycles=1.5, unrolled=90.0, registers=20.0)
_STEPS = (1.3, 1.001)  # the first and the last factor between the numbers that the fit tries
_STANDARD_ERRORS = 3  # other kernels differ more than those it was fitted to


def is_for_calibration(row):
    """True for what the fit may see of the course's kernels: 4 GEMVs, and the rung that ends so
    soon that its start counts.
    """
    return (row.N, row.K) in _SHAPES and (
        row.kernel in _UNPACKED
        or row.weights in _PACKED.get(row.kernel, ())
        or _RUNGS.get(row.kernel) == row.weights
    )


def cases():
    """[(recorded kernel, its `BlockCounts`)] that the fit sees."""
    kernels = [(row, row.load()) for row in measured_kernels() if is_for_calibration(row)]
    variants = [(row, row.variant.kernel()) for name in _SEEN for row in recorded(name)]
    return [(row, counts_of(kernel, row)) for row, kernel in kernels + variants]


def card():
    """The H200 as the measurement of the ladder found it."""
    row = ladder.recorded()[0]
    return Card(row.device, H200.multiprocessors, row.sm_mhz, row.read_gb_per_s)


def counts_of(kernel, row):
    """The `BlockCounts` of a recorded kernel."""
    return (count_rung if isinstance(kernel, ladder.RungKernel) else count)(kernel, row.N, row.K)


def errors(cases, parameters):
    """The logarithms of estimate / measurement."""
    where, found = card(), []
    for row, counts in cases:
        us = time_of(terms(counts, where, parameters), power_of(counts, where))
        found.append(math.log(us / row.us))
    return found


def loss(cases, parameters):
    """What the fit minimizes: the mean of the absolute errors, and of half their squares."""
    found = errors(cases, parameters)
    return sum(abs(e) + e * e / 2 for e in found) / len(found)


def fitted(cases):
    """The `Parameters` of the smallest loss, by changing any of them in ever smaller steps."""
    best, least = asdict(_FIRST), loss(cases, _FIRST)
    step, last = _STEPS
    while step > last:
        found = min(neighbours(best, step), key=lambda one: loss(cases, Parameters(**one)))
        now = loss(cases, Parameters(**found))
        if now < least:
            best, least = found, now
        else:
            step **= 0.5
    return Parameters(**{name: float(f"{value:.3g}") for name, value in best.items()})


def neighbours(numbers, step):
    """The parameters with one of them divided by `step` or multiplied by it."""
    for name, value in numbers.items():
        for factor in (1 / step, step):
            yield numbers | {name: value * factor}


def main():
    seen = cases()
    parameters = fitted(seen)
    found = errors(seen, parameters)
    spread = math.sqrt(sum(e * e for e in found) / len(found))
    record = {
        "date": str(date.today()),
        "card": asdict(card()),
        "parameters": asdict(parameters),
        "factor": round(math.exp(_STANDARD_ERRORS * spread), 2),
        "rows": [row.key for row, _ in seen],
    }
    path_of("H200").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(parameters, "factor", record["factor"], "on", len(seen), "kernels")
    print(f"the largest error is {math.exp(max(map(abs, found))):.2f}-fold")


if __name__ == "__main__":
    main()
