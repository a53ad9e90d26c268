"""The learner's own files: fresh starts, and solutions."""

import json
import shutil
from datetime import datetime

from gemlite_lab.checker import EXERCISES
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.lesson.record import GIVEN_UP, SOLVED, record, states, workbook


def reset(notebook):
    """Start the exercise notebook "bitpacking", "02_bitpacking" or "02", afresh.

    It keeps the old one beside the new one under a dated name, and returns the path of that copy,
    or None if there was nothing to keep.
    """
    folder = _workbook()
    every = sorted((folder / "exercises").glob("*.ipynb"))
    pristine = next((path for path in every if notebook in _names(path)), None)
    if pristine is None:
        names = ", ".join(path.stem for path in every)
        raise ValueError(f"there is no exercise notebook {notebook!r}; there are {names}")
    mine = folder / "work" / pristine.name
    mine.parent.mkdir(exist_ok=True)
    kept = None
    if mine.exists():
        kept = mine.with_name(f"{pristine.stem}.{datetime.now():%Y-%m-%d_%H%M%S_%f}.ipynb")
        mine.rename(kept)
        print(f"kept your old one as work/{kept.name}")
    shutil.copy(pristine, mine)
    print(f"work/{mine.name} is as it was at the start: reload it")
    return kept


def _names(path):
    """What `reset` calls the exercise notebook at `path`: "02_bitpacking", "02", "bitpacking"."""
    number, _, slug = path.stem.partition("_")
    return path.stem, number, slug


def give_up(name):
    """Unlock the solution of exercise `name` without solving it."""
    _find(name)
    record(name, GIVEN_UP)
    print(f'solution("{name}") shows it now')


def solution(name):
    """Show the solution of exercise `name`, once it is solved or given up."""
    _find(name)
    if states().get(name) not in (SOLVED, GIVEN_UP):
        raise ValueError(
            f'{name} is not solved yet: check("{name}", ...) first, or give_up("{name}")'
        )
    shown = [line for line in _solution_text(name).splitlines() if "SOLUTION" not in line]
    print("\n".join(shown))


def _written_by_the_learner():
    return [exercise for exercise in EXERCISES.values() if exercise.lesson]


def _find(name):
    known = [exercise.name for exercise in _written_by_the_learner()]
    if name not in known:
        raise ValueError(f"there is no solution of {name!r}; there are {', '.join(known)}")


def _solution_text(name):
    """The cell with a solution region, the last one up to the cell that checks `name`."""
    path = _workbook() / "solutions" / find_lesson(EXERCISES[name].lesson).file
    region = None
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if "### BEGIN SOLUTION" in text:
            region = text
        if cell["cell_type"] == "code" and f'check("{name}"' in text:
            return region
    return None


def _workbook():
    folder = workbook()
    if folder is None:
        raise ValueError(
            "this is not inside the workbook, the folder with notebooks/, exercises/ and "
            "solutions/: change to it first"
        )
    return folder
