"""Every committed notebook has the form of a lesson."""

import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from make_exercises import exercise_of  # noqa: E402
from refresh_notebooks import text_of  # noqa: E402

LESSONS = sorted(ROOT.glob("notebooks/*.ipynb"))
SOLUTIONS = sorted(ROOT.glob("solutions/*.ipynb"))
EXERCISES = sorted(ROOT.glob("exercises/*.ipynb"))
QUESTIONS = sorted(ROOT.glob("gemlite_lab/lesson/questions/*.toml"))
README = (ROOT / "README.md").read_text()


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda p: f"{p.parent.name}/{p.stem}")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path):
    return "\n\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")


def test_there_are_seventeen_lessons_and_their_exercise_notebooks():
    assert [p.stem[:2] for p in LESSONS] == [f"{number:02}" for number in range(17)]
    with_exercises = ["02", "03", *(f"{number:02}" for number in range(5, 15)), "16"]
    assert [p.stem[:2] for p in SOLUTIONS] == with_exercises
    assert [p.stem for p in EXERCISES] == [p.stem for p in SOLUTIONS]


@by_name(LESSONS + SOLUTIONS + EXERCISES)
def test_it_is_in_canonical_form(path):
    nbformat.validate(read(path))
    assert path.read_text() == text_of(read(path)), "run tools/refresh_notebooks.py"


@by_name(LESSONS + SOLUTIONS)
def test_it_was_executed_without_error_or_stderr(path):
    for cell in code_cells(path):
        assert cell.execution_count is not None, cell.source
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source


@by_name(LESSONS)
def test_it_is_short(path):
    assert len(read(path).cells) <= 25
    assert max(cell.source.count("\n") + 1 for cell in code_cells(path)) <= 15
    assert len(prose(path).split()) <= 1500
    assert path.stat().st_size < 200_000


@by_name(LESSONS)
def test_it_has_the_parts_of_a_lesson(path):
    text, code = prose(path), "\n".join(cell.source for cell in code_cells(path))
    title = text.splitlines()[0]
    assert title.startswith("# ") and title.endswith("?")
    assert re.search(r"\b\d+ minutes", text)
    for section in ("## Summary", "## Exercises", "## What this leaves out"):
        assert section in text, section
    number = path.stem[:2]
    assert [f'recall("{number}.{i}")' in code for i in (1, 2, 3)] == [True] * 3
    assert re.search(r"^predict\(.*, None\)$", code, re.MULTILINE)
    for what in re.findall(r'predict\("(.*?)"', code):
        assert f'reveal("{what}"' in code, what


@by_name(LESSONS + SOLUTIONS + EXERCISES)
def test_every_link_leads_somewhere(path):
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose(path))
    for link in links:
        if not link.startswith("http"):
            target = link.replace("../work/", "../exercises/")  # make lab copies them there
            assert (path.parent / target).exists(), link


@by_name(SOLUTIONS)
def test_the_exercise_is_what_the_solution_gives(path):
    exercise = ROOT / "exercises" / path.name
    assert exercise.read_text() == exercise_of(path), "run tools/make_exercises.py"


@by_name(QUESTIONS)
def test_every_choice_of_a_question_is_explained_and_one_is_right(path):
    questions = tomllib.loads(path.read_text())["question"]
    assert len(questions) == 3
    for question in questions:
        assert question["ask"].strip().endswith(("?", "."))
        assert 3 <= len(question["choice"]) <= 4
        assert sum(choice["right"] for choice in question["choice"]) == 1
        for choice in question["choice"]:
            assert len(choice["because"].split()) >= 6, choice["text"]


def test_the_right_answer_is_not_always_in_the_same_place():
    places = {
        [choice["right"] for choice in question["choice"]].index(True)
        for path in QUESTIONS
        for question in tomllib.loads(path.read_text())["question"]
    }
    assert len(places) >= 3


@by_name(LESSONS)
def test_both_overviews_list_it_with_its_minutes(path):
    lesson, exercises = re.search(r"(\d+) minutes(?:, and (\d+))?", prose(path)).groups()
    beside = f" + {exercises}" if exercises else ""
    assert re.search(
        rf"\({path.parent.name}/{path.name}\).* {lesson}{re.escape(beside)} \|", README
    )
    work = f"[{exercises} minutes](../work/{path.name})" if exercises else ""
    assert f"({path.name}) | {lesson} | {work}".rstrip() in prose(LESSONS[0])
