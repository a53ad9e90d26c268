"""Numbers that a kept result may confuse: pairs of one sum or one product."""

from pathlib import Path

import pytest

from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.alike_numbers import alike
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
FLOOR = "floor_us", "bits_first", "N, K, nbits, group_size, rate"
TFLOPS = "attainable_tflops", "by_time", "M, N, K, nbytes, rate, peak"
KEPT_BY = """
kept = {{}}


def {name}({arguments}):
    return kept.setdefault({key}, right({arguments}))
"""


def test_two_numbers_keep_their_sum_or_product_or_change_places():
    found = alike({"a": 4, "b": 6}, {"a": 1, "b": 1})
    assert found == [{"a": a, "b": b} for a, b in [(5, 5), (3, 7), (8, 3), (2, 12), (6, 4)]]
    assert alike({"a": 1, "b": 16}, {"a": 1, "b": 16}) == []


@pytest.mark.parametrize(
    "exercise, key",
    [
        (FLOOR, "(N + K, nbits, group_size, rate)"),
        (FLOOR, "(N, K, nbits * group_size, rate)"),
        (FLOOR, "N + K + nbits + group_size + rate"),
        (TFLOPS, "(M * N * K, nbytes, rate + peak)"),
        (TFLOPS, "M + N + K + nbytes + rate + peak"),
    ],
)
def test_a_result_kept_by_a_sum_or_a_product_is_wrong(exercise, key):
    name, answer, arguments = exercise
    text = (RIGHT / name / f"{answer}.py").read_text().replace(f"def {name}(", "def right(")
    text += KEPT_BY.format(name=name, arguments=arguments, key=key)
    with pytest.raises(CheckFailed, match="is right when this call is the first"):
        check(name, as_answer(EXERCISES[name], text, "kept"))


@pytest.mark.parametrize("name", ["floor_us", "attainable_tflops", "fragment_shape"])
def test_the_right_output_of_alike_arguments_is_known(name):
    exercise = EXERCISES[name]
    for seed in range(20):
        for case in exercise.fresh(seed):
            assert exercise.expected(case)[0].isfinite().all()
