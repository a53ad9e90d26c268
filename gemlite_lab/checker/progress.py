"""The learner's way through the course: its map, what is solved, and what comes next."""

import os
from dataclasses import replace
from pathlib import Path
from textwrap import fill

from gemlite_lab.checker import EXERCISES
from gemlite_lab.lesson.course import lessons
from gemlite_lab.lesson.course_table import markdown, plain, rows_of
from gemlite_lab.lesson.record import SOLVED, rungs, states

_ROOT = Path(__file__).parent.parent.parent
_WIDTH = 100


def course():
    """Show the course: its parts and lessons, their minutes, what each gives, what is solved."""
    from IPython.display import display

    known = states()
    rows = [_with_solved(row, known) for row in rows_of(lessons(), _ROOT / "notebooks")]
    work = os.path.relpath(_ROOT / "work", Path.cwd().resolve())
    texts = {"text/markdown": markdown(rows, work, is_copy=True), "text/plain": plain(rows)}
    display(texts, raw=True)


def progress():
    """Print, for each lesson that is begun and for the next one, what is solved, and what is not.

    Then say which were solved from a rung, and which exercise comes next.
    """
    known = states()
    names = {lesson: exercises for lesson in lessons() if (exercises := _exercises(lesson))}
    upcoming = _next_exercise(names, known)
    begun = [x for x in names if known.keys() & names[x] or (upcoming and x == upcoming[0])]
    table = [("lesson", "solved", "still to solve")]
    table += [_line(lesson, names[lesson], known) for lesson in begun]
    widths = [max(map(len, column)) for column in list(zip(*table, strict=True))[:2]]
    for first, second, rest in table:
        start = f"{first:{widths[0]}}  {second:{widths[1]}}  "
        print(fill(rest, _WIDTH, initial_indent=start, subsequent_indent=" " * len(start)))
    from_a_rung = [
        f"{name} ({which})"
        for name, which in rungs().items()
        if which != "all" and known.get(name) == SOLVED
    ]
    if from_a_rung:
        print(fill(f"Solved from a rung: {', '.join(from_a_rung)}", _WIDTH))
    if upcoming:
        print(f"Next: {upcoming[1]}, in work/{upcoming[0].name}_exercises.ipynb")
    else:
        print("You have solved or given up every exercise.")


def _with_solved(row, known):
    names = _exercises(row.lesson)
    solved = sum(known.get(name) == SOLVED for name in names)
    return replace(row, solved=solved, exercises=len(names))


def _exercises(lesson):
    """The names of the exercises that the lesson sets."""
    return [name for name, exercise in EXERCISES.items() if exercise.lesson == lesson.slug]


def _next_exercise(names, known):
    """(lesson, name) of the first exercise neither solved nor given up; None if there is none."""
    left = ((lesson, name) for lesson in names for name in names[lesson] if name not in known)
    return next(left, None)


def _line(lesson, names, known):
    """(lesson, how many are solved, which are not)."""
    unsolved = [name for name in names if known.get(name) != SOLVED]
    solved = f"{len(names) - len(unsolved)} of {len(names)}"
    states_of = [f"{name} ({known[name]})" if name in known else name for name in unsolved]
    return lesson.name, solved, ", ".join(states_of) or "-"
