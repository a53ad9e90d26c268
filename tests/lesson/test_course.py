"""The table of the course, and that everything which counts or orders lessons follows it."""

import re
import sys
from pathlib import Path

import pytest

from gemlite_lab.checker import EXERCISES
from gemlite_lab.lesson.course import find_lesson, lessons
from gemlite_lab.lesson.course_table import rows_of
from gemlite_lab.lesson.minutes import prose_cells, read_cells

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from number_lessons import tables, with_table  # noqa: E402

WITH_EXERCISES = {exercise.lesson for exercise in EXERCISES.values()} - {None}
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
NOTEBOOKS = [p for x in ("notebooks", "solutions") for p in sorted((ROOT / x).glob("*.ipynb"))]


def test_the_files_are_those_of_the_table():
    files = {lesson.file for lesson in lessons()}
    assert {path.name for path in (ROOT / "notebooks").glob("*.ipynb")} == files
    of_exercises = {find_lesson(slug).file for slug in WITH_EXERCISES}
    for folder in ("exercises", "solutions"):
        assert {path.name for path in (ROOT / folder).glob("*.ipynb")} == of_exercises


def test_lessons_are_numbered_from_0_and_their_texts_are_short():
    assert [lesson.number for lesson in lessons()] == list(range(len(lessons())))
    assert len({lesson.slug for lesson in lessons()}) == len(lessons())
    for lesson in lessons():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", lesson.slug)
        assert lesson.question.endswith("?")
        assert 0 < len(lesson.gives) <= 50 and not lesson.gives.endswith(".")
        assert 0 < len(lesson.short) <= 24


def test_the_shortest_way_ends_with_part_one():
    parts = list(dict.fromkeys(lesson.part for lesson in lessons()))
    assert {lesson.part for lesson in lessons() if lesson.is_core} == {parts[0]}
    assert lessons()[0].is_core


@pytest.mark.parametrize("name", ["gemv", "04_gemv", "04"])
def test_a_lesson_has_three_names(name):
    assert find_lesson(name).slug == "gemv"


def test_an_unknown_lesson_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="there is no lesson 'nothing'; there are start_here, "):
        find_lesson("nothing")


def test_the_pages_have_their_tables():
    for page, what, table in tables(rows_of(lessons(), ROOT / "notebooks")):
        text = (ROOT / page).read_text()
        assert with_table(text, what, table) == text, "run tools/number_lessons.py"


def test_each_lesson_ends_with_a_link_to_the_next():
    for lesson, following in zip(lessons()[:-1], lessons()[1:], strict=True):
        last = prose_cells(read_cells(ROOT / "notebooks" / lesson.file))[-1].splitlines()[-1]
        assert last == f"**Next:** [{following.question}]({following.file})"


@pytest.mark.parametrize("path", DOCUMENTS + NOTEBOOKS, ids=lambda path: path.name)
def test_prose_names_a_lesson_by_words(path):
    numbered = r"(?i)\b(?:notebook|lesson)s? \d|\[(?:lesson )?\d\d\b[^]]*\]\("
    text = path.read_text().split("<!-- end of the lessons -->")[-1]
    if path.suffix == ".ipynb":
        numbered += r"|\((?:0\d|1\d)\)|(?<![\w./,-])0\d(?![\w.])"
        text = "\n".join(prose_cells(read_cells(path))).split("\n", 1)[1]
    assert not re.findall(numbered, text)


def test_code_names_no_lesson_by_its_number():
    for path in [*ROOT.glob("gemlite_lab/**/*.py"), *ROOT.glob("gemlite_lab/**/*.toml")]:
        assert not re.findall(r"(?i)\b(?:notebook|lesson) \d", path.read_text()), path
