"""Measuring kernels, ours and others', by one method: `make bench`.

The method: weights rotate over copies that are, each with its y, more than four times the L2,
launches go through a CUDA graph, results are compared with fp64 on the timed inputs, and what
cannot be true is refused.
"""

from gemlite_lab.bench.candidate import Candidate, Prepared, find_candidates
from gemlite_lab.bench.card import Card, current_card
from gemlite_lab.bench.ladder import RungKernel, counted, recorded, rungs
from gemlite_lab.bench.measuring import Refused, measure
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
    "rungs",
    "weight_bytes",
]
