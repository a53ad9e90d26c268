"""Rows for best_scale agree in what a kept result may be looked up by, and have other indices."""

import pytest
import torch

from gemlite_lab.checker.alike_rows import alike_rows
from gemlite_lab.checker.close_rows import errors

SEEDS = range(20)


def weights(seed):
    return torch.cat([case.W for case in alike_rows(seed)])


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_differ_in_two_weights_and_in_the_best_candidate(seed):
    best = [errors(case.W, 8, case.candidates).argmin(1).item() for case in alike_rows(seed)]
    assert best == [1, 2] * 8
    W = weights(seed)
    for one, other in zip(W[::2], W[1::2], strict=True):
        assert (one != other).sum() == 2
        assert one.sum() == other.sum() and one.max() == other.max() and one.min() == other.min()


@pytest.mark.parametrize("seed", SEEDS)
def test_each_part_of_a_row_is_alike_in_some_neighbours(seed):
    W = weights(seed)
    K = W.shape[1]
    parts = W[:, : K // 2], W[:, K // 2 :], W[:, K // 4 : -K // 4], W[:, ::2], W[:, 1::2]
    for part in parts:
        assert (part[::2] == part[1::2]).all(1).any()
