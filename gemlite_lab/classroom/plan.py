"""The course as a class takes it: in which week a lesson comes, and what an exercise is worth.

Both follow from the minutes that the lessons state. An exercise is worth the minutes of its
notebook in equal parts, at least one point. A week is a sixth of all minutes; a lesson belongs to
the week in which its middle lies.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemlite_lab.lesson.course import Lesson, lessons
from gemlite_lab.lesson.course_table import rows_of
from gemlite_lab.lesson.minutes import Stated, read_cells

ROOT = Path(__file__).parents[2]
WEEKS = 6
_CHECK = re.compile(r'^check\("(\w+)", (\w+)\)', re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """An exercise for the class. variable: what its notebook calls the answer."""

    name: str
    variable: str
    points: int


@dataclass(frozen=True)
class Unit:
    """A lesson with its week, from 1, its minutes, and its tasks."""

    lesson: Lesson
    week: int
    minutes: Stated
    tasks: tuple[Task, ...]


@cache
def units():
    """All units of the course, in order."""
    rows = rows_of(lessons(), ROOT / "notebooks")
    minutes = [row.minutes.lesson + row.minutes.exercises for row in rows]
    middles = (sum(minutes[:place]) + own / 2 for place, own in enumerate(minutes))
    return tuple(
        Unit(row.lesson, 1 + int(WEEKS * middle / sum(minutes)), row.minutes, _tasks(row))
        for row, middle in zip(rows, middles, strict=True)
    )


def units_of(week):
    """The units of one week; of the whole course for None. ValueError for any other week."""
    if week is not None and week not in range(1, WEEKS + 1):
        raise ValueError(f"the course has weeks 1 to {WEEKS}, got {week}")
    return [unit for unit in units() if week in (None, unit.week)]


def _tasks(row):
    path = ROOT / "exercises" / row.lesson.file
    cells = read_cells(path) if path.exists() else []
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    variables = {}
    for name, variable in _CHECK.findall(code):
        variables.setdefault(name, variable)
    points = max(1, round(row.minutes.exercises / max(1, len(variables))))
    return tuple(Task(name, variable, points) for name, variable in variables.items())
