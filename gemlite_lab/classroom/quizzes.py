"""The recall questions as a quiz in Moodle's GIFT format.

The format: https://docs.moodle.org/en/GIFT_format. A category for each lesson, a question of
several choices for each of its recall questions, and its explanation behind each choice.
"""

from gemlite_lab.lesson.course import lessons
from gemlite_lab.lesson.recall import questions_of

_SPECIAL = "\\~=#{}:"  # the backslash comes first: it stands before the others


def quizzes():
    """The text of the quiz of all lessons, in order."""
    return "\n".join(part for lesson in lessons() for part in _of_lesson(lesson))


def _of_lesson(lesson):
    yield f"$CATEGORY: gemlite_edu/{lesson.name}\n"
    for number, asked in enumerate(questions_of(lesson.slug), 1):
        yield f"::{lesson.slug}.{number}::[plain]{escaped(asked['ask'])} {{"
        for choice in asked["choice"]:
            mark = "=" if choice["right"] else "~"
            yield f"{mark}{escaped(choice['text'])}#{escaped(choice['because'])}"
        yield "}\n"


def escaped(text):
    r"""
    >>> escaped("x[k] = {1: 2}")
    'x[k] \\= \\{1\\: 2\\}'
    """
    for mark in _SPECIAL:
        text = text.replace(mark, f"\\{mark}")
    return text.strip().replace("\n", "\\n")
