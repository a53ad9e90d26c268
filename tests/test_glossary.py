"""Each word of docs/glossary.md has one meaning, and a lesson that uses it."""

import json
import re
from pathlib import Path

import pytest

from gemlite_lab.lesson.course import lessons

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRY = re.compile(r"- \*\*(?P<term>.+?)\*\*: (?P<text>.+) \(\[(?P<name>.+)\]\((?P<link>\S+)\)\)")
LINES = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("- ")]
ENTRIES = [ENTRY.fullmatch(line) for line in LINES]


def test_every_line_is_an_entry_and_they_are_in_order():
    assert None not in ENTRIES and len(ENTRIES) >= 24
    terms = [entry["term"].lower() for entry in ENTRIES]
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["term"])
def test_a_meaning_is_one_or_two_sentences_and_its_lesson_uses_the_word(entry):
    assert entry["text"].endswith(".")
    assert len(re.findall(r"\.(?=\s|$)", entry["text"])) <= 2
    (lesson,) = (x for x in lessons() if entry["link"] == f"../notebooks/{x.file}")
    assert entry["name"] == lesson.short
    cells = json.loads((ROOT / "notebooks" / lesson.file).read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert re.search(rf"\b{entry['term']}(s|d|ed)?\b", text, re.IGNORECASE)


def test_the_glossary_and_the_notation_link_each_other_and_the_course_links_the_glossary():
    assert "](../NOTATION.md)" in GLOSSARY.read_text()
    assert "](docs/glossary.md)" in (ROOT / "NOTATION.md").read_text()
    assert "](glossary.md)" in (ROOT / "docs/course.md").read_text()
