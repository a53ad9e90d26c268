"""Refuse the text that an exercise gives to repair, as long as it is the one that was given."""

import json
import re

from gemlite_lab.checker.exercise import CheckFailed
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.lesson.record import workbook

_NOT_CODE = re.compile(r"//[^\n]*|\s+")


def refuse_text_as_given(exercise, answer):
    """Raise CheckFailed if the answer is the text of the exercise as it was given.

    What is wrong with that text is for the learner to find, so no mistake is named.
    """
    given = _given_text(exercise)
    if given and _NOT_CODE.sub("", given) == _NOT_CODE.sub("", answer):
        raise CheckFailed(
            f"{exercise.name} is still the text as it was given: what does its symptom, above, say "
            "about the mistake? Change the text, and run its cell and this one again"
        )


def _given_text(exercise):
    """The text in the cell of the exercise; None outside the workbook."""
    folder = workbook()
    if folder is None or not exercise.lesson:
        return None
    path = folder / "exercises" / find_lesson(exercise.lesson).file
    if not path.exists():
        return None
    cells = ("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    pattern = re.compile(rf'^{exercise.name} = """\n(.*?)"""', re.DOTALL | re.MULTILINE)
    return next((found[1] for found in map(pattern.search, cells) if found), None)
