"""`grade`: check every submission in a folder again, and write the grades."""

from pathlib import Path

from gemlite_lab.classroom.gradebook import Gradebook
from gemlite_lab.classroom.plan import units_of
from gemlite_lab.classroom.referee import Referee, Verdict
from gemlite_lab.classroom.submissions import submissions_in, units_notebooks

SECONDS = 300  # for one answer, by the clock


def grade(folder, out, week=None, seed=None, seconds=SECONDS):
    """Grade the submissions in `folder` into the CSV at `out`, and print a line for each.

    week: whose exercises; None: those of the whole course. seed: draws the hidden cases; None: it
    is kept beside `out`, and drawn there the first time. seconds: the longest time of one answer.
    Submissions whose row is in the book already are left alone.
    """
    folder, out = Path(folder).resolve(), Path(out).resolve()
    if folder in out.parents:
        raise ValueError(f"{out} lies among the submissions: put it into another folder")
    units = units_of(week)
    submissions = submissions_in(folder)
    book = Gradebook(out, [task for unit in units for task in unit.tasks], seed)
    book.begin(submissions)
    with Referee(seconds) as referee:
        for submission in submissions:
            if not book.has(submission):
                book.add(submission, _verdicts(submission, units, book, referee))
            print(f"{submission.student}: {book.points_of(submission)} points", flush=True)
    book.finish()


def _verdicts(submission, units, book, referee):
    """{task: `Verdict`} of one submission."""
    verdicts = {}
    for unit in units:
        paths = units_notebooks(submission, unit, units_of(None))
        missing = Verdict(False, f"there is no notebook of the lesson {unit.lesson.name}")
        for task in unit.tasks:
            seed = book.seed_of(task)
            verdicts[task] = (
                referee.verdict(paths, task.name, task.variable, seed) if paths else missing
            )
    return verdicts
