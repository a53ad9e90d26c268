"""The cases of Triton exercises that a GPU runs: right answers compile there and fit its memory."""

from itertools import combinations
from pathlib import Path

import pytest

from gemlite_edu.runners.ahead_of_time import STAGES, PlannedLaunch, _source, compiled
from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
TRITON = [name for name in EXERCISES if EXERCISES[name].is_triton]
RTX_4090, SHARED_BYTES = 89, 99 * 1024  # its compute capability, and the most of a block there
LARGEST_BLOCK = 2**13  # elements; the compiler takes seconds for larger ones


class _Planned:
    """An answer in this process, whose launches on the device "meta" are kept."""

    def __init__(self, function):
        self._function, self.launches = function, []

    def run(self, _run_product, product, *arguments):
        try:
            product(self._function, *arguments)
        except PlannedLaunch as planned:
            self.launches.append(planned)
            raise


def launches_of(name):
    """(The case's label, its launch) of each case for a GPU, by one right answer."""
    exercise = EXERCISES[name]
    path = min((RIGHT / name).glob("*.py"))
    answer = _Planned(as_answer(exercise, path.read_text(), path.stem))
    for case in exercise.cases_on("cuda"):
        with pytest.raises(PlannedLaunch):
            exercise.run(answer, case, "meta")
        yield case.label, answer.launches.pop()


@pytest.mark.parametrize("name", TRITON)
def test_a_right_answer_fits_a_gpu(name):
    for label, launch in launches_of(name):
        source, asked = _source(launch)
        facts = compiled(source, RTX_4090, asked, STAGES)
        assert facts.get("shared", 0) <= SHARED_BYTES, label
        blocks = [launch.meta.get(block, 1) for block in ("BLOCK_M", "BLOCK_N", "BLOCK_K")]
        assert max(a * b for a, b in combinations(blocks, 2)) <= LARGEST_BLOCK, label


def test_no_left_operand_that_is_unpacked_has_16_columns():
    """Up to 3.7, Triton computes a wrong product of it: mixed_mm_configs.py."""
    for name in ("splitk_group", "splitk_scales"):
        assert all(launch.meta["BLOCK_K"] >= 32 for _, launch in launches_of(name))


def test_blocks_that_no_gpu_takes_stay_in_the_interpreter():
    for name in ("dense_gemv", "splitk_group"):
        exercise = EXERCISES[name]
        assert 0 < len(exercise.cases_on("cuda")) < len(exercise.cases_on("cpu"))
        assert exercise.cases_on("cpu") == exercise.cases()
