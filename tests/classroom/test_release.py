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
from handed_in import INDEX, RIGHT_KERNELS, ROOT
from nbgrader import nbgraderformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
from traitlets.config import Config

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


def test_without_solutions_and_hidden_checks_it_is_the_exercise_that_this_course_ships(released):
    config = Config()
    config.ClearSolutions.code_stub = configured(released)["ClearSolutions"]["code_stub"]
    paths = sorted(released.glob("source/week_*/*.ipynb"))
    assert [path.name for path in paths] == [unit.lesson.file for unit in units() if unit.tasks]
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        nbgraderformat.MetadataValidator().validate_nb(notebook)
        for step in (ClearSolutions(config=config), ClearHiddenTests()):
            notebook, _ = step.preprocess(notebook, {})
        shipped = nbformat.read(ROOT / "exercises" / path.name, as_version=4)
        joined = "\n\n\n".join(cell.source for cell in notebook.cells)
        assert joined == "\n\n\n".join(cell.source for cell in shipped.cells)


def configured(course):
    """The settings of the course's nbgrader_config.py."""
    config = Config()
    exec((course / "nbgrader_config.py").read_text(), {"get_config": lambda: config})
    return config


def nbgrader(course, *words):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.every_case  # nbgrader's commands take 20 s; the test above takes its own steps
def test_nbgrader_releases_it_and_grades_a_right_answer_and_a_stub(released):
    place = "week_1/03_cuda_c.ipynb"
    nbgrader(released, "generate_assignment", "week_1", "--notebook", "03_cuda_c")
    notebook = nbformat.read(released / "release" / place, as_version=4)
    assert notebook.cells[0].source.startswith("Your name:")
    answer = next(c for c in notebook.cells if c.source.startswith("cuda_index = "))
    answer.source = RIGHT_KERNELS[0]
    (released / "submitted" / "ada" / "week_1").mkdir(parents=True)
    nbformat.write(notebook, released / "submitted" / "ada" / place)
    nbgrader(released, "autograde", "week_1", "--notebook", "03_cuda_c")

    graded = nbformat.read(released / "autograded" / "ada" / place, as_version=4)
    check = next(c for c in graded.cells if c.metadata.get("nbgrader", {}).get("points"))
    assert re.search(r"seed=\d+", check.source)
    assert "".join(each.text for each in check.outputs).count("cuda_index: right") == 2
    with Gradebook(f"sqlite:///{released / 'gradebook.db'}") as book:
        assert book.find_submission("week_1", "ada").score == INDEX
