"""The learner's own files: fresh starts, and solutions."""

import json
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from textwrap import fill

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.notes import note_of
from gemlite_lab.lesson.copies import originals, text_of_copy
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.lesson.record import GIVEN_UP, SOLVED, record, states, workbook

_RIGHT_ANSWERS = Path(__file__).parent.parent.parent / "tests" / "right"
_LONG = 32
_WIDTH = 100


def reset(notebook):
    """Start a notebook in work/ afresh: a lesson, "02_bitpacking", or "02_bitpacking_exercises".

    The number or the slug may stand for the name: "02", "bitpacking_exercises". It keeps the old
    one beside the new one under a dated name, and returns the path of that copy, or None if there
    was nothing to keep.
    """
    folder = _workbook()
    every = originals(folder)
    name = next((name for name in every if notebook in _names(name)), None)
    if name is None:
        names = ", ".join(every)
        raise ValueError(f"there is no notebook {notebook!r} in work/; there are {names}")
    mine = folder / "work" / f"{name}.ipynb"
    mine.parent.mkdir(exist_ok=True)
    kept = None
    if mine.exists():
        kept = mine.with_name(f"{name}.{datetime.now():%Y-%m-%d_%H%M%S_%f}.ipynb")
        mine.rename(kept)
        print(f"kept your old one as work/{kept.name}")
    mine.write_text(text_of_copy(every[name]))
    print(f"work/{mine.name} is as it was at the start: reload it")
    return kept


def _names(name):
    """What `reset` calls a notebook: by its name, its number or its slug.

    >>> _names("02_bitpacking_exercises")
    ('02_bitpacking_exercises', '02_exercises', 'bitpacking_exercises')
    """
    number, _, slug = name.partition("_")
    return name, number + "_exercises" * name.endswith("_exercises"), slug


def give_up(name):
    """Unlock the solution of exercise `name` without solving it."""
    _find(name)
    _refuse_if_withheld(name)
    record(name, GIVEN_UP)
    print(f'solution("{name}") shows it now')


def solution(name):
    """Show our solution of exercise `name`, once it is solved or given up.

    Below it stand the reason why it is so, and another right answer.
    """
    _find(name)
    _refuse_if_withheld(name)
    if states().get(name) not in (SOLVED, GIVEN_UP):
        raise ValueError(
            f'{name} is not solved yet: check("{name}", ...) first, or give_up("{name}")'
        )
    note = note_of(name)
    print(_ours(name).strip())
    print(f"\n{fill(f'Why so: {note.why}', _WIDTH)}")
    print(f"\n{fill(f'Another way: {note.other_is}', _WIDTH)}\n")
    print(_other_way(name, note.other))


def _ours(name):
    """The text of our solution, without its marks and without the check behind it."""
    lines = solution_text(name).splitlines()
    return "\n".join(x for x in lines if "SOLUTION" not in x and not x.startswith("check("))


def _other_way(name, file):
    """The right answer in `file`, or of a long one the lines that differ from ours."""
    text = (_RIGHT_ANSWERS / name / file).read_text().strip()
    if len(text.splitlines()) <= _LONG:
        return text
    both = [_code(answer[answer.index(f"def {name}(") :]) for answer in (_ours(name), text)]
    _, _, *lines = unified_diff(*both, n=1, lineterm="")
    shown = ["..." if line.startswith("@@") else line for line in lines]
    return "\n".join(["Lines with - are ours, lines with + take their place:", *shown])


def _code(text):
    """The lines of a Python function that are neither empty nor a docstring, without comments."""
    lines = [line.partition("  #")[0] for line in text.splitlines()]
    return [line for line in lines if line.strip() and '"""' not in line]


def _written_by_the_learner():
    return [exercise for exercise in EXERCISES.values() if exercise.lesson]


def _find(name):
    known = [exercise.name for exercise in _written_by_the_learner()]
    if name not in known:
        raise ValueError(f"there is no solution of {name!r}; there are {', '.join(known)}")


def solution_text(name):
    """The text of the last cell with a solution region up to the cell that checks `name`."""
    path = _workbook() / "solutions" / find_lesson(EXERCISES[name].lesson).file
    region = None
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if "### BEGIN SOLUTION" in text:
            region = text
        if cell["cell_type"] == "code" and f'check("{name}"' in text:
            return region
    return None


def _refuse_if_withheld(name):
    """Raise ValueError in the workbook of a class, which has neither solutions nor their notes."""
    if note_of(name) is None:
        raise ValueError(
            f'this workbook comes without solutions: hint("{name}", 1) to hint("{name}", 3) help, '
            "and so does your teacher"
        )


def _workbook():
    folder = workbook()
    if folder is None:
        raise ValueError(
            "this is not inside the workbook, the folder with notebooks/ and exercises/: change to "
            "it first"
        )
    return folder
