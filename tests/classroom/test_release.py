"""`release`: what students get has no solutions, and nbgrader takes the rest."""

import os
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import nbformat
import pytest
from handed_in import ROOT

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.rungs import solution_parts
from gemlite_lab.classroom.__main__ import main
from gemlite_lab.classroom.plan import units
from gemlite_lab.classroom.quizzes import quizzes
from gemlite_lab.classroom.schedule import schedule

TASKS = [task for unit in units() for task in unit.tasks]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    out = tmp_path_factory.mktemp("class") / "release"
    main(["release", str(out), "--start", "2027-01-11"])
    return out


def test_it_brings_the_schedule_and_the_quizzes(released):
    assert (released / "schedule.md").read_text() == schedule(date(2027, 1, 11)) + "\n"
    assert (released / "quizzes.gift").read_text(encoding="utf-8") == quizzes()


def test_no_file_for_students_holds_a_solution(released):
    book = released / "workbook"
    assert not [name for name in ("solutions", "tests", ".git", ".venv") if (book / name).exists()]
    assert not (book / "gemlite_lab" / "checker" / "notes").exists()
    texts = [p.read_text() for p in book.rglob("*") if p.suffix in (".py", ".ipynb", ".toml")]
    assert not [text for text in texts if re.search(r"^\W*### BEGIN SOLUTION", text, re.MULTILINE)]
    for name in ("pack", "unpack", "climb", "gemv_revsplitk", "mxfp4_encode"):
        longest = max(solution_parts(name)[1], key=len).strip().replace('"', '\\"')
        assert not [text for text in texts if longest in text], name


def run_in(folder, code):
    """What Python says of the code in a student's workbook, with the package of that workbook."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("GEMLITE_EDU_PROGRESS", None)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_student_can_work_there_and_gets_no_solution(released):
    said = run_in(
        released / "workbook",
        "import gemlite_lab, pathlib\n"
        "from gemlite_lab import give_up, hint, progress, rung, solution\n"
        "from gemlite_lab.lesson.copies import copy_new\n"
        "print(pathlib.Path(gemlite_lab.__file__).parent)\n"
        "copy_new(pathlib.Path())\n"
        "hint('climb', 1)\n"
        "progress()\n"
        "for call in (give_up, solution, rung):\n"
        "    try: call('climb')\n"
        "    except ValueError as error: print(error)\n",
    )
    assert said.startswith(str(released / "workbook"))
    assert said.count("this workbook comes without solutions") == 2
    assert "climb has no rungs, but hints" in said
    assert "Easier starts" not in said
    assert "Next: best_scale, in work/01_quantize_exercises.ipynb" in said
    assert len(list((released / "workbook" / "work").glob("*_exercises.ipynb"))) == 27
    shutil.rmtree(released / "workbook" / "work")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match="is not empty"):
        main(["release", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SystemExit, match="lies in the workbook itself"):
        main(["release", str(ROOT / "build" / "release")])


def test_the_source_has_each_exercise_once_with_its_points_and_a_seed_of_its_own(released):
    graded, seeds = {}, []
    for path in released.glob("source/week_*/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                facts = cell.metadata.nbgrader
                assert facts.locked and not facts.solution
                graded[facts.grade_id] = facts.points
                (seed,) = re.findall(rf'check\("{facts.grade_id}", \w+, seed=(\d+)\)', cell.source)
                seeds.append(seed)
    assert graded == {task.name: task.points for task in TASKS}
    assert len(set(seeds)) == len(TASKS) == len([e for e in EXERCISES.values() if e.lesson])


def nbgrader(course, *words):
    command = [sys.executable, "-m", "nbgrader", *words]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def assigned(released):
    """The course's folder, after nbgrader has released the second week."""
    nbgrader(released, "generate_assignment", "week_2")
    return released


def test_nbgraders_release_is_the_exercise_as_this_course_ships_it(assigned):
    paths = sorted((assigned / "release" / "week_2").glob("*.ipynb"))
    assert [path.name for path in paths] == [
        unit.lesson.file for unit in units() if unit.week == 2 and unit.tasks
    ]
    for path in paths:
        header, *cells = nbformat.read(path, as_version=4).cells
        shipped = nbformat.read(ROOT / "exercises" / path.name, as_version=4).cells
        assert header.source.startswith("Your name:")
        assert [cell.source for cell in cells] == [cell.source for cell in shipped]


def test_nbgrader_grades_a_right_answer_and_a_stub(assigned):
    name = "06_races.ipynb"
    handed_in = assigned / "submitted"
    for student, source in (
        ("right", ROOT / "solutions" / name),
        ("stub", assigned / "release" / "week_2" / name),
    ):
        notebook = nbformat.read(assigned / "release" / "week_2" / name, as_version=4)
        answers = nbformat.read(source, as_version=4).cells
        kernel = next(c for c in answers if c.source.startswith("cuda_two_buffers = "))
        next(
            c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")
        ).source = kernel.source
        (handed_in / student / "week_2").mkdir(parents=True)
        nbformat.write(notebook, handed_in / student / "week_2" / name)
    nbgrader(assigned, "autograde", "week_2")
    nbgrader(assigned, "export")
    grades = Path(assigned / "grades.csv").read_text().splitlines()
    head = grades[0].split(",")
    scores = {
        row[head.index("student_id")]: float(row[head.index("score")])
        for row in (line.split(",") for line in grades[1:])
        if row[head.index("assignment")] == "week_2"
    }
    points = next(task.points for task in TASKS if task.name == "cuda_two_buffers")
    assert scores == {"right": points, "stub": 0}
