"""Each format that tools/time_formats.py times computes the product that its harness expects."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import time_formats

from gemlite_lab.bench.measuring import TOLERANCE
from gemlite_lab.bench.problem import Problem, WeightFormat


@pytest.mark.parametrize("format", time_formats.FORMATS, ids=str)
def test_a_format_has_the_right_y(format):
    nbits, has_levels, dtype = format
    candidate = time_formats.candidate_of(has_levels, dtype, "DEQUANTIZE")
    problem, generator = Problem(WeightFormat(nbits, 128), 3, 40, 256), torch.Generator()
    weights = problem.draw_weights(dtype, generator.manual_seed(0), candidate.is_symmetric)
    x = problem.draw_x(dtype, generator)
    y, right = candidate.prepare(weights, problem).call(x), problem.product(x, weights)
    assert (y.double() - right).norm() <= TOLERANCE * right.norm()
