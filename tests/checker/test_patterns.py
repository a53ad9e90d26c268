"""What is said of a wrong output that no known mistake gives."""

import pytest
import torch

from gemlite_lab.checker.patterns import pattern

RIGHT = torch.tensor([[1.0, 2, 4], [8, 16, 32], [64, 128, -256]])
LAST_COLUMN = torch.tensor([[0.0, 0, 1], [0, 0, 3], [0, 0, 5]])


@pytest.mark.parametrize(
    "wrong, said",
    [
        (0 * RIGHT + 7, "all of y is 7"),
        (-RIGHT, "all of y has the opposite sign of the right one"),
        (RIGHT / 2, "all of y is 1 / 2 of the right one"),
        (RIGHT * 3, "all of y is 3 times the right one"),
        (RIGHT + 5, "all of y is 5 too large"),
        (RIGHT - 5, "all of y is 5 too small"),
        (RIGHT.roll(1, 0), "each row of y is the right one of the row before it"),
        (RIGHT.roll(-1, 1), "each column of y is the right one of the column behind it"),
        (RIGHT.flip(0), "the rows of y are in reverse order"),
        (RIGHT.T, "y is the right one transposed"),
        (RIGHT + LAST_COLUMN, "only column 2 of y is wrong"),
        (RIGHT * torch.inf, "most of y is infinite: a number is far too large"),
        (RIGHT + torch.arange(9).view(3, 3) / 64, "no number of y is far off"),
        (RIGHT.square() + 1, ""),
    ],
)
def test_a_pattern_is_said(wrong, said):
    found = pattern("y", wrong, RIGHT)
    assert found.startswith(said) and bool(found) == bool(said)


def test_the_place_from_which_most_lines_are_wrong_is_said():
    right = torch.arange(1.0, 301).view(300, 1)
    wrong = right.clone()
    wrong[256:] = right[:44]
    wrong[[260, 290]] = right[[260, 290]]
    said = "the first 256 rows of y are right, and most others are not"
    assert pattern("y", wrong, right) == said
    assert pattern("y", wrong[:, 0], right[:, 0]) == said.replace("rows", "elements")
    assert pattern("y", wrong[250:], right[250:]) != said


def test_the_last_elements_are_said_to_be_wrong():
    right = torch.arange(1.0, 101)
    wrong = torch.cat((right[:96], right[:4]))
    said = "only the elements of y from 96 to 99 are wrong"
    assert pattern("y", wrong, right) == said
    right[5] = wrong[5] = torch.inf
    assert pattern("y", wrong, right) == said


def test_no_number_is_near_infinity():
    expected = torch.where(RIGHT == 16, torch.inf, RIGHT)
    assert pattern("y", RIGHT, expected) == "only row 1 of y is wrong"


def test_one_number_is_compared_with_round_factors_alone():
    assert (
        pattern("us", torch.tensor(72.0), torch.tensor(12.0))
        == "all of us is 6 times the right one"
    )
    assert pattern("us", torch.tensor(71.3), torch.tensor(12.0)) == ""


def test_lost_signs_of_small_numbers_are_not_called_rounded():
    right = torch.tensor([[-2.0, 1e6, 3.0], [4.0, -5.0, 6.0], [7.0, 8.0, -1.0]])
    assert not pattern("y", right.abs(), right)
