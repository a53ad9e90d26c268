"""Refuse an answer that is not finished: a stub, lines out of order, or a blank."""

import re

from gemlite_lab.checker.exercise import CheckFailed
from gemlite_lab.checker.text_of_code import text_of_code

STUB_MARK = "YOUR CODE HERE"
ORDER_MARK = "THE LINES ARE OUT OF ORDER"
BLANK = "____"


def refuse_stub(name, text):
    """Raise CheckFailed if the line of the stub is still in the text of an answer."""
    if _has_mark(STUB_MARK, text):
        raise CheckFailed(
            f"{name} is not written yet: put your code in place of the line '#error {STUB_MARK}'"
        )


def refuse_unfinished_rung(exercise, text):
    """Raise CheckFailed if the text is a rung whose lines or blanks are left as they came."""
    name, comment = exercise.name, "//" if exercise.is_kernel else "#"
    if _has_mark(ORDER_MARK, text):
        raise CheckFailed(
            f"{name} is not finished: the lines are still out of order. Put them in order, then "
            f"delete the line that begins with '#error {ORDER_MARK}'"
        )
    code = [line.partition(comment)[0] for line in text.splitlines()]
    left = [line.strip() for line in code for _ in re.findall(rf"(?<!\w){BLANK}(?!\w)", line)]
    if left:
        how_many = "a blank" if len(left) == 1 else f"the first of {len(left)} blanks"
        raise CheckFailed(
            f"{name} is not finished: {how_many} {BLANK} is left in the line `{left[0]}`. "
            "Put code in its place"
        )


def text_of_python(answer):
    """The text of a Python function; "" if Python does not know it."""
    try:
        return text_of_code(answer.__code__)
    except (OSError, TypeError, AttributeError):
        return ""


def _has_mark(mark, text):
    return re.search(rf"^\s*#\s*error {mark}", text, re.MULTILINE)
