"""The bank of answers: each wrong one is rejected and its mistake named, each right one passes."""

import json
import os
import re
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_lab.checker import EXERCISES, CheckFailed, check, dequant_dot, warp_reduce
from gemlite_lab.checker.fingerprints import path_of
from gemlite_lab.checker.wrong_answers import as_answer, wrong_answers_to

TESTS = Path(__file__).parent.parent
RIGHT = sorted(path for path in TESTS.glob("right/*/*") if path.suffix in (".py", ".cu"))
WRONG = [answer for name in EXERCISES for answer in wrong_answers_to(name, TESTS).values()]
REMEDY = "run python tools/fingerprint_mistakes.py"


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture
def nothing_built_ahead(monkeypatch):
    """Build nothing for later cases: most wrong answers fail before them, and no core is idle."""
    module = import_module("gemlite_lab.checker.check")  # the package's own name is the function
    monkeypatch.setattr(module, "built_ahead", lambda inspections: nullcontext())


def stop_after_a_second(monkeypatch):
    for module in (dequant_dot, warp_reduce):
        load = module.load
        monkeypatch.setattr(
            module, "load", lambda *args, load=load, **how: load(*args, **how | {"time_limit": 1.0})
        )


@pytest.mark.usefixtures("nothing_built_ahead")
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.exercise}/{wrong.name}")
def test_a_wrong_answer_is_rejected_by_name(wrong, monkeypatch):
    if wrong.name == "endless_loop":
        stop_after_a_second(monkeypatch)
    answer = as_answer(EXERCISES[wrong.exercise], wrong.text, wrong.name)
    with pytest.raises((CheckFailed, KernelTextError, KernelFault)) as caught:
        check(wrong.exercise, answer)
    diagnosis = wrong.diagnosis
    if wrong.is_named_by_its_output:
        diagnosis = f"Your output is exactly what comes out when {diagnosis}."
    assert diagnosis in str(caught.value), f"{REMEDY} {wrong.exercise}"
    assert not Path(os.environ["GEMLITE_EDU_PROGRESS"]).exists()


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_right_answer_passes(path):
    exercise = EXERCISES[path.parent.name]
    check(exercise.name, as_answer(exercise, path.read_text(), path.stem))


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_right_and_wrong_answers(name):
    assert sum(path.parent.name == name for path in RIGHT) >= 3
    assert sum(wrong.exercise == name for wrong in WRONG) >= 3


def test_every_file_of_wrong_answers_belongs_to_an_exercise():
    assert {path.stem for path in TESTS.glob("wrong/*")} == EXERCISES.keys()


@pytest.mark.parametrize("name", EXERCISES)
def test_the_checker_knows_the_mistakes_of_the_wrong_answers_and_no_others(name):
    made = {w.diagnosis for w in WRONG if w.exercise == name and w.is_named_by_its_output}
    assert json.loads(path_of(name).read_text()).keys() == made, f"{REMEDY} {name}"


def test_every_trap_is_fallen_into():
    said = [wrong.diagnosis for wrong in WRONG]
    for trap in {trap for exercise in EXERCISES.values() for trap in exercise.traps}:
        assert any(trap in diagnosis for diagnosis in said), trap


@pytest.mark.parametrize("page", ["README.md", "docs/course.md"])
def test_the_pages_count_the_wrong_answers(page):
    text = (TESTS.parent / page).read_text()
    assert re.search(r"\*\*(\d+) wrong answers\*\*", text)[1] == str(len(WRONG))
