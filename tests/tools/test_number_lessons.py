"""tools/number_lessons.py, on a copy of the workbook whose course.toml is changed."""

import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from gemlite_lab.lesson.course import read_course
from gemlite_lab.lesson.minutes import prose_cells, read_cells

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from number_lessons import FOLDERS, number_lessons  # noqa: E402

NEW = """
[[part.lesson]]
slug = "warps"
short = "warps"
question = "What is a kernel?"
gives = "a kernel of fifteen lines"
core = true
"""


@pytest.fixture
def book(tmp_path):
    """A copy of what the tool changes."""
    for folder in (*FOLDERS, "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "gemlite_lab/lesson").mkdir(parents=True)
    shutil.copy(ROOT / "gemlite_lab/lesson/course.toml", tmp_path / "gemlite_lab/lesson")
    for path in ROOT.glob("*.md"):
        shutil.copy(path, tmp_path)
    return tmp_path


def write_new_lesson(book):
    """A lesson without a number, and a link to it."""
    text = "# What?\n\n**5 minutes.** See [GEMV](04_gemv.ipynb).\n\nNext: what was next"
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    nbformat.write(lesson, book / "notebooks/warps.ipynb")
    with (book / "docs/checks.md").open("a") as file:
        file.write("[warps](../notebooks/warps.ipynb)\n")


def change_table(book):
    """Insert a lesson after bitpacking, and move the benchmarks to the place after quantize."""
    path = book / "gemlite_lab/lesson/course.toml"
    entries = re.split(r"(?=\n\[\[part)", path.read_text())
    (moved,) = (entry for entry in entries if '"benchmarks"' in entry)
    entries.remove(moved)
    for slug, entry in (("quantize", moved), ("bitpacking", NEW)):
        (before,) = (i for i, text in enumerate(entries) if f'slug = "{slug}"' in text)
        entries.insert(before + 1, entry)
    path.write_text("".join(entries))


def links_of(book):
    """{(document's slug, the link's place in it): the slug to which it leads}."""
    found = {}
    folders = [*FOLDERS, "docs", "."]
    for path in [
        p for x in folders for p in (book / x).glob("*.*") if p.suffix in (".md", ".ipynb")
    ]:
        document = path.parent.name if path.parent != book else "."
        for place, link in enumerate(re.findall(r"\]\(([^)#\s]*\.ipynb)\)", path.read_text())):
            target = link.replace("../work/", "../exercises/")
            assert (path.parent / target).exists(), (path, link)
            found[document, slug(path.name), place] = slug(link)
    return found


def slug(name):
    return re.sub(r"^\d\d_", "", Path(name).stem)


def test_after_an_insertion_and_a_move_lessons_are_in_order_and_links_lead_right(book):
    number_lessons(book)
    before = links_of(book)
    write_new_lesson(book)
    change_table(book)
    number_lessons(book)
    lessons = read_course(book / "gemlite_lab/lesson/course.toml")
    slugs = [lesson.slug for lesson in lessons]
    assert slugs[:5] == ["start_here", "quantize", "benchmarks", "bitpacking", "warps"]
    assert sorted(p.name for p in (book / "notebooks").iterdir()) == [x.file for x in lessons]
    for lesson, following in zip(lessons, [*lessons[1:], None], strict=True):
        cells = read_cells(book / "notebooks" / lesson.file)
        assert prose_cells(cells)[0].startswith(f"# {lesson.number:02}. {lesson.question}\n")
        last = prose_cells(cells)[-1].splitlines()[-1]
        if following:
            assert last == f"**Next:** [{following.question}]({following.file})"
        else:
            assert "Next:" not in last
        for folder in ("exercises", "solutions"):
            if (path := book / folder / lesson.file).exists():
                assert prose_cells(read_cells(path))[0].startswith(
                    f"# {lesson.number:02}. Exercise"
                )
    # The course's table and the links to the next lesson follow the new order; all others stay.
    after = links_of(book)
    assert after["docs", "checks", max(p for x, y, p in after if (x, y) == ("docs", "checks"))] == (
        "warps"
    )
    assert after["notebooks", "warps", 0] == "gemv"
    followers = dict(zip(slugs, slugs[1:], strict=False))
    for place, target in before.items():
        if place[:2] != ("docs", "course") and after.get(place) != target:
            assert place[0] == "notebooks" and after.get(place) == followers.get(place[1]), place
    table = (book / "docs/course.md").read_text().split("<!-- end of the lessons -->")[0]
    assert [slug(x) for x in re.findall(r"\((\.\./notebooks/.*?\.ipynb)\)", table)] == slugs


def test_a_second_run_changes_nothing(book):
    write_new_lesson(book)
    change_table(book)
    number_lessons(book)
    first = {path: path.read_bytes() for path in book.rglob("*.*") if path.is_file()}
    number_lessons(book)
    assert {path: path.read_bytes() for path in book.rglob("*.*") if path.is_file()} == first


def test_the_committed_workbook_follows_its_table(book):
    files = [path for path in book.rglob("*.*") if path.is_file()]
    committed = {path: path.read_bytes() for path in files}
    number_lessons(book)
    changed = [
        path.name for path in files if not path.exists() or path.read_bytes() != committed[path]
    ]
    assert changed == [], "run tools/number_lessons.py"


@pytest.mark.parametrize(
    "stray, sentence",
    [
        (None, "course.toml has 'warps', but notebooks/ has no such lesson"),
        ("stray.ipynb", "stray.ipynb is in no line of course.toml: add 'stray', or remove it"),
        ("gemv.ipynb", "gemv.ipynb and .*04_gemv.ipynb are one lesson: remove one of them"),
    ],
)
def test_a_table_and_files_that_do_not_match_get_a_sentence_and_no_change(book, stray, sentence):
    change_table(book)
    if stray:
        write_new_lesson(book)
        (book / "notebooks" / stray).write_text("{}")
    before = sorted(book.rglob("*"))
    with pytest.raises(ValueError, match=sentence):
        number_lessons(book)
    assert sorted(book.rglob("*")) == before
