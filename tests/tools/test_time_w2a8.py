"""Each kernel that tools/time_w2a8.py times computes the product that its harness expects."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import time_w2a8

from gemlite_lab.bench.candidate import find_candidates
from gemlite_lab.bench.measuring import TOLERANCE
from gemlite_lab.bench.problem import Problem, WeightFormat


@pytest.mark.parametrize("name, nbits", time_w2a8.BITS.items(), ids=str)
def test_a_kernel_has_the_right_y(name, nbits):
    candidate = find_candidates()[name]
    problem, generator = Problem(WeightFormat(nbits), 17, 40, 256), torch.Generator()
    weights = problem.draw_weights(candidate.x_dtype, generator.manual_seed(0), True)
    x = problem.draw_x(candidate.x_dtype, generator)
    y, right = candidate.prepare(weights, problem).call(x), problem.product(x, weights)
    assert (y.double() - right).norm() <= TOLERANCE * right.norm()


def test_a_dash_stands_for_what_a_kernel_does_not_take():
    int_mm, problem = find_candidates()["int_mm"], Problem(WeightFormat(8), 16, 40, 256)
    assert time_w2a8.microseconds(int_mm, problem, card=None, generator=None) == "-"
