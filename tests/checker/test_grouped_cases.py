"""The inputs of the group-wise exercises: no group taken wrongly can hide in them."""

import pytest
import torch

from gemlite_edu.packing import WarpInterleaved
from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.grouped_cases import with_groups_of_a_tile, with_one_group_for_all

NAMES = ["scaled_dot", "bug_2", "bug_3"]


def exact_cases(name):
    """The exact cases but those of few rows, which are there for the scales' last bits."""
    cases = [case for case in EXERCISES[name].cases() if case.is_exact]
    return [case for case in cases if "scales of 24 bits" not in case.label]


def tile_of(case):
    return WarpInterleaved(case.nbits).tile


@pytest.mark.parametrize("name", NAMES)
def test_every_code_occurs(name):
    for case in exact_cases(name):
        if case.W_q.numel() >= 2**case.nbits:
            assert case.W_q.unique().tolist() == list(range(2**case.nbits)), case.label


@pytest.mark.parametrize("name", NAMES)
def test_groups_of_a_row_and_neighbouring_rows_differ(name):
    for case in exact_cases(name):
        for row in torch.stack([case.scales, case.zeros], dim=2):
            assert len(row.unique(dim=0)) == case.scales.shape[1], case.label
        for tensor in (case.scales, case.zeros):
            assert (tensor[1:] != tensor[:-1]).all(), case.label


@pytest.mark.parametrize("name", NAMES)
def test_all_but_the_smallest_are_ragged_over_several_tiles_and_groups(name):
    for case in exact_cases(name):
        N, K = case.W_q.shape
        if K > case.group_size:
            assert N > 32 and K > tile_of(case) and K % tile_of(case), case.label
            assert K % case.group_size == 0 and K // case.group_size > 2


def test_scaled_dot_meets_groups_of_every_kind():
    sizes = {case.group_size for case in exact_cases("scaled_dot")}
    assert {32, 64, 128} <= sizes
    assert any(size % 32 for size in sizes) and any(size < 32 for size in sizes)
    cases = exact_cases("scaled_dot")
    assert any(case.group_size > tile_of(case) for case in cases)
    assert any(case.group_size == case.W_q.shape[1] for case in cases)
    assert any(32 % case.nbits for case in cases)


@pytest.mark.parametrize("name", NAMES)
def test_without_differences_between_groups_their_rows_have_one_scale(name):
    for case in exact_cases(name):
        even = with_one_group_for_all(case)
        assert even.scales.shape == case.scales.shape
        assert (even.scales == case.scales[:, :1]).all() and (even.zeros == case.zeros[:, :1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_groups_of_a_tile_are_whole_tiles_of_the_case(name):
    for case in exact_cases(name):
        whole = with_groups_of_a_tile(case)
        N, K = whole.W_q.shape
        assert whole.scales.shape == whole.zeros.shape == (N, K // whole.group_size)
        assert whole.group_size == tile_of(case) or K == whole.group_size
        of_case = case.W_q.shape[1] // whole.group_size * whole.group_size
        for theirs, ours in ((whole.W_q, case.W_q), (whole.x, case.x)):
            assert torch.equal(theirs, ours[:, :of_case].repeat(1, K // of_case))
