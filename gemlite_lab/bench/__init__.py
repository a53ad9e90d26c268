"""Measure kernels, ours and others', by one method: `make bench`.

The method: calls rotate over copies of the weights, which together with their outputs fill the L2
more than four times; a CUDA graph launches them; the harness compares the results with fp64 on the
timed inputs, and refuses a time that cannot be true.
"""

from gemlite_lab.bench.candidate import Candidate, Prepared, find_candidates
from gemlite_lab.bench.card import Card, current_card
from gemlite_lab.bench.ladder import RungKernel, counted, recorded, rungs
from gemlite_lab.bench.measuring import Refused, measure
from gemlite_lab.bench.model.rows import recorded_steps
from gemlite_lab.bench.problem import Problem, WeightFormat
from gemlite_lab.bench.roofline import floor_us, weight_bytes

__all__ = [
    "Candidate",
    "Card",
    "Prepared",
    "Problem",
    "Refused",
    "RungKernel",
    "WeightFormat",
    "counted",
    "current_card",
    "find_candidates",
    "floor_us",
    "measure",
    "recorded",
    "recorded_steps",
    "rungs",
    "weight_bytes",
]
