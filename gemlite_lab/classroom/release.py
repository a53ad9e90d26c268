"""`release`: what a class gets, made from this clone into a new folder.

    workbook/            for students: the course without solutions
    source/week_1/ ...   for the teacher: notebooks with solutions and hidden checks, for nbgrader
    nbgrader_config.py   the configuration of that course
    schedule.md          the six weeks
    quizzes.gift         the recall questions, for Moodle

Solutions are withheld by leaving out the files that hold them, so no branch has to be kept: a
student's workbook is the same package, at the same version, and lacks solutions/, the notes on
them, and the tests with their right and wrong answers.
"""

import secrets
import shutil
from pathlib import Path

import nbformat

from gemlite_lab.classroom.nbgrader_source import CONFIG, header, source_of
from gemlite_lab.classroom.plan import ROOT, WEEKS, units
from gemlite_lab.classroom.quizzes import quizzes
from gemlite_lab.classroom.schedule import schedule

_FOR_STUDENTS = (
    *("LICENSE", "Makefile", "NOTATION.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *("CITATION.cff", "constraints.txt", "environment.yml", "pyproject.toml"),
    *("benchmarks", "docs", "exercises", "gemlite_edu", "gemlite_lab", "notebooks"),
    *("tools/environment.py", "tools/open_lab.py"),
)
_NOTES = ROOT / "gemlite_lab" / "checker" / "notes"


def release(out, start=None):
    """Write all of it into the folder `out`, which must be new or empty.

    start: the date on which the first week begins, for the schedule.
    """
    out = Path(out).resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not empty: name a folder that is not there yet")
    if ROOT in out.parents or out == ROOT:
        raise ValueError(f"{out} lies in the workbook itself: name a folder outside of {ROOT}")
    out.mkdir(parents=True, exist_ok=True)
    _write_workbook(out / "workbook")
    _write_source(out / "source")
    (out / "nbgrader_config.py").write_text(CONFIG)
    (out / "schedule.md").write_text(schedule(start) + "\n", encoding="utf-8")
    (out / "quizzes.gift").write_text(quizzes(), encoding="utf-8")


def _write_workbook(folder):
    for name in _FOR_STUDENTS:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=_left_out)
        else:
            shutil.copy2(ROOT / name, target)


def _left_out(folder, names):
    return {
        name
        for name in names
        if name in ("__pycache__", ".ipynb_checkpoints") or Path(folder, name) == _NOTES
    }


def _write_source(folder):
    for week in range(1, WEEKS + 1):
        (folder / f"week_{week}").mkdir(parents=True)
    nbformat.write(header(), folder / "header.ipynb")
    for unit in filter(lambda unit: unit.tasks, units()):
        solution = nbformat.read(ROOT / "solutions" / unit.lesson.file, as_version=4)
        source = source_of(solution, unit, lambda task: secrets.randbelow(2**31))
        nbformat.write(source, folder / f"week_{unit.week}" / unit.lesson.file)
