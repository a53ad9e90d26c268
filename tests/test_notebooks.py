"""Every committed notebook has the form of a lesson."""

import re
import sys
from pathlib import Path

import nbformat
import pytest

from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.lesson.minutes import minutes_by_rule, predictions, stated_minutes

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from make_exercises import exercise_of  # noqa: E402
from refresh_notebooks import text_of  # noqa: E402

LESSONS = sorted(ROOT.glob("notebooks/*.ipynb"))
SOLUTIONS = sorted(ROOT.glob("solutions/*.ipynb"))
EXERCISES = sorted(ROOT.glob("exercises/*.ipynb"))


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda p: f"{p.parent.name}/{p.stem}")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path):
    return "\n\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")


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
def test_it_has_few_cells_and_short_ones(path):
    assert len(read(path).cells) <= 25
    assert max(cell.source.count("\n") + 1 for cell in code_cells(path)) <= 15
    assert (
        path.stat().st_size < 250_000
    )  # pictures at 160 dots per inch, and a player of 60 to 100 kB


@by_name(LESSONS)
def test_it_states_the_minutes_that_the_rule_gives(path):
    cells = read(path).cells
    stated = stated_minutes(cells)
    assert stated.lesson == minutes_by_rule(cells), "run tools/number_lessons.py"
    assert bool(stated.exercises) == (ROOT / "exercises" / path.name).exists()


@by_name(LESSONS)
def test_a_lesson_takes_at_most_45_minutes(path):
    assert minutes_by_rule(read(path).cells) <= 45


@by_name(LESSONS)
def test_a_lesson_has_at_most_five_predictions(path):
    assert predictions(read(path).cells) <= 5


@by_name(LESSONS)
def test_a_lesson_asks_one_question(path):
    question = find_lesson(path.stem).question
    assert question.count("?") == 1 and ", and " not in question


@by_name(LESSONS)
def test_it_has_the_parts_of_a_lesson(path):
    text, code = prose(path), "\n".join(cell.source for cell in code_cells(path))
    lesson = find_lesson(path.stem)
    assert text.splitlines()[0] == f"# {lesson.title}" and lesson.title.endswith("?")
    for section in ("## Summary", "## Exercises", "## What this leaves out"):
        assert section in text, section
    assert [f'recall("{lesson.slug}.{i}")' in code for i in (1, 2, 3)] == [True] * 3
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
