"""What is lost in half precision is named: a bfloat16 x, a scale, and the sign of a zero."""

from pathlib import Path

import pytest
import torch

from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.diagnosis import diagnosis

RIGHT = Path(__file__).parent.parent / "right"
WITH_X = ["dequant_dot", "scaled_dot", "bug_2", "bug_3", "dequant_dot_4bit", "dequant_dot_nf4"]


def diagnoses(name, number, dtype):
    """What is said of an output of this number alone, for each case with x of this type."""
    exercise = EXERCISES[name]
    for case in exercise.cases():
        if case.x.dtype == dtype:
            right, _ = exercise.expected(case)
            actual = torch.full(right.shape, number, dtype=exercise.dtype)
            yield case, diagnosis(exercise, "", case, actual)


@pytest.mark.parametrize("name", WITH_X)
def test_nan_names_a_bfloat16_x_beyond_the_largest_half(name):
    words = "Here x is bfloat16 and has numbers beyond 65504"
    said = [(bool(c.x.half().isinf().any()), words in d) for c, d in
            diagnoses(name, torch.nan, torch.bfloat16)]  # fmt: skip
    assert (True, True) in said and all(is_beyond == is_named for is_beyond, is_named in said)
    assert not any(words in d for _, d in diagnoses(name, torch.nan, torch.half))


@pytest.mark.parametrize("name", ["scaled_dot", "bug_3"])
def test_an_output_of_zeros_names_scales_that_half_cannot_hold(name):
    said = [
        (not c.scales.half().any(), "Here every scale is so small" in d)
        for c, d in diagnoses(name, 0.0, torch.bfloat16)
    ]
    assert (True, True) in said and all(is_small == is_named for is_small, is_named in said)


def test_a_half_of_minus_zero_is_not_the_level_zero():
    text = next(t for p in RIGHT.glob("dequant_pair_table/*") if "0x0000" in (t := p.read_text()))
    with pytest.raises(CheckFailed, match="is 0x8000, which is -0; the level has the bits 0x0000"):
        check("dequant_pair_table", text.replace("0x0000", "0x8000"))
