"""The bank of answers: every wrong one is rejected and its mistake named, every right one passes.

The first line of a wrong answer says what the message must say: `# diagnosis: ...`.
"""

import os
import re
from pathlib import Path

import pytest

from gemlite_edu.numbers.errors import KernelFault, KernelTextError
from gemlite_lab.checker import EXERCISES, CheckFailed, check, dequant_dot, warp_reduce

TESTS = Path(__file__).parent.parent


def answers(kind):
    files = sorted(path for path in TESTS.glob(f"{kind}/*/*") if path.suffix in (".py", ".cu"))
    return [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in files]


WRONG, RIGHT = answers("wrong"), answers("right")


def read_answer(path):
    """The function or the CUDA text in a file, and the exercise it answers."""
    text, exercise = path.read_text(), path.parent.name
    if path.suffix == ".cu":
        return exercise, text
    namespace = {}
    exec(compile(text, str(path), "exec"), namespace)
    return exercise, namespace[exercise]


def diagnosis_of(path):
    first_line = path.read_text().partition("\n")[0]
    return re.fullmatch(r"(?:#|//) diagnosis: (.+)", first_line)[1]


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


def stop_after_a_second(monkeypatch):
    for module in (dequant_dot, warp_reduce):
        load = module.load
        monkeypatch.setattr(
            module, "load", lambda *args, load=load, **how: load(*args, **how | {"time_limit": 1.0})
        )


@pytest.mark.parametrize("path", WRONG)
def test_a_wrong_answer_is_rejected_by_name(path, monkeypatch):
    if path.stem == "endless_loop":
        stop_after_a_second(monkeypatch)
    exercise, answer = read_answer(path)
    with pytest.raises((CheckFailed, KernelTextError, KernelFault)) as caught:
        check(exercise, answer)
    diagnosis = diagnosis_of(path)
    if diagnosis in EXERCISES[exercise].mistakes:
        diagnosis = f"Your output is exactly what comes out when {diagnosis}."
    if diagnosis in EXERCISES[exercise].traps:
        diagnosis = f"It would be right if {diagnosis}."
    assert diagnosis in str(caught.value)
    assert not Path(os.environ["GEMLITE_EDU_PROGRESS"]).exists()


@pytest.mark.parametrize("path", RIGHT)
def test_a_right_answer_passes(path):
    check(*read_answer(path))


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_right_and_wrong_answers(name):
    assert sum(param.values[0].parent.name == name for param in RIGHT) >= 3
    assert sum(param.values[0].parent.name == name for param in WRONG) >= 3


def test_every_known_mistake_is_made():
    made = {diagnosis_of(param.values[0]) for param in WRONG}
    for exercise in EXERCISES.values():
        assert exercise.mistakes.keys() | exercise.traps.keys() <= made


def test_the_readme_counts_the_wrong_answers():
    readme = (TESTS.parent / "README.md").read_text()
    assert re.search(r"\*\*(\d+) wrong answers\*\*", readme)[1] == str(len(WRONG))
