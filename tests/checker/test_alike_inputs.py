"""Answers that keep results and look them up by less than all of their arguments are wrong."""

from pathlib import Path

import pytest

from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
KEPT_BY = """
import copy
_kept = {{}}


def {name}(*a):
    key = str({key})
    if key not in _kept:
        _kept[key] = right(*a)
    return copy.deepcopy(_kept[key])
"""


@pytest.mark.parametrize(
    "name, key",
    [
        ("pack", "a[0].tolist()"),
        ("pack", "(a[0].flatten().tolist(), a[1])"),
        ("unpack", "(a[0].tolist(), a[1])"),
        ("unpack", "(a[0].tolist(), a[2])"),
        ("best_scale", "(a[0].tolist(), a[2].tolist())"),
        ("best_scale", "(a[0].abs().tolist(), a[1], a[2].tolist())"),
        ("quantize_tokens", "a[0].flatten().tolist()"),
        ("quantize_tokens", "(a[0].shape, a[0].abs().tolist())"),
        ("quantize_tokens", "(a[0].shape, a[0].half().tolist())"),
        ("mxfp4_encode", "a[0].flatten().tolist()"),
        ("mxfp4_encode", "(a[0].shape, a[0].abs().tolist())"),
        ("mxfp4_encode", "(a[0].shape, a[0].half().tolist())"),
    ],
)
def test_a_result_that_is_kept_by_a_part_of_the_arguments_is_wrong(name, key):
    text = (RIGHT / name / "plain.py").read_text().replace(f"def {name}(", "def right(")
    text += KEPT_BY.format(name=name, key=key)
    with pytest.raises(CheckFailed, match="when this call is the first|has shape|index_of_row"):
        check(name, as_answer(EXERCISES[name], text, "kept"))
