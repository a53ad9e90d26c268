"""The learner's way through the course: `course` and `progress`."""

import json
import re
from pathlib import Path

import IPython.display
import pytest

from gemlite_lab import course, give_up, progress
from gemlite_lab.checker import EXERCISES
from gemlite_lab.lesson.copies import originals
from gemlite_lab.lesson.course import find_lesson, lessons
from gemlite_lab.lesson.minutes import read_cells, stated_minutes

ROOT = Path(__file__).parent.parent.parent


def write(book, states):
    (book / "work" / "progress.json").write_text(json.dumps(states))


def name_of(slug):
    return find_lesson(slug).name


def test_at_the_start_progress_shows_the_first_exercises_alone(book, capsys):
    progress()
    name = name_of("quantize")
    assert capsys.readouterr().out.splitlines() == [
        f"{'lesson':{len(name)}}  solved  still to solve",
        f"{name}  0 of 1  best_scale",
        f"Next: best_scale, in work/{name}_exercises.ipynb",
    ]


def test_progress_shows_the_lessons_begun_and_the_next_one(book, capsys):
    write(book, {"best_scale": "solved", "warp_reduce_sum": "solved"})
    give_up("pack")
    capsys.readouterr()
    progress()
    _, *shown, last = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown] == [
        [name_of("quantize"), "1", "of", "1", "-"],
        [name_of("bitpacking"), "0", "of", "2", "pack", "(given", "up),", "unpack"],
        [name_of("gemv"), "1", "of", "1", "-"],
    ]
    assert last == f"Next: unpack, in work/{name_of('bitpacking')}_exercises.ipynb"


def test_columns_of_progress_never_break(book, capsys):
    write(book, dict.fromkeys(EXERCISES, "given up"))
    progress()
    head, *shown, _ = capsys.readouterr().out.splitlines()
    column = head.index("still")
    assert max(map(len, shown)) <= 100
    assert all(line[column - 1] == " " and line[column] != " " for line in shown)
    assert sum(line.startswith(" ") for line in shown) >= 1


def test_progress_says_when_nothing_is_left(book, capsys):
    write(book, dict.fromkeys(EXERCISES, "solved"))
    progress()
    assert capsys.readouterr().out.splitlines()[-1] == "You have solved or given up every exercise."


def test_a_damaged_progress_file_gets_a_sentence(book):
    (book / "work" / "progress.json").write_text("{")
    with pytest.raises(ValueError, match="progress.json is damaged"):
        progress()


@pytest.fixture
def shown(book, monkeypatch):
    """A function that returns (Markdown, text) of what `course` displays, given the states."""

    def show(states):
        write(book, states)
        texts = []
        monkeypatch.setattr(IPython.display, "display", lambda text, raw: texts.append(text))
        course()
        return texts[0]["text/markdown"], texts[0]["text/plain"]

    return show


def row_of(slug, text):
    lesson = find_lesson(slug)
    is_its = re.compile(rf"[* |\[]*{lesson.number:02}\b")
    (line,) = (line for line in text.splitlines() if is_its.match(line))
    return line


def test_both_texts_have_every_lesson_below_its_part(shown):
    for text in shown({}):
        found = re.findall(r"^(?:\*\*)?(Part .*?)(?:\*\*)?$|^[ *|[]*(\d\d)\b", text, re.MULTILINE)
        expected = []
        for lesson in lessons():
            if (lesson.part, "") not in expected:
                expected.append((lesson.part, ""))
            expected.append(("", f"{lesson.number:02}"))
            assert lesson.gives in row_of(lesson.slug, text)
        assert found == expected


def test_its_links_lead_to_lessons_and_exercises(shown, book, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    markdown, _ = shown({})
    links = re.findall(r"\]\((.*?)\)", markdown)
    assert len(links) == len(lessons()) + len({e.lesson for e in EXERCISES.values()} - {None})
    copies = {f"../work/{name}.ipynb" for name in originals(ROOT)}
    assert set(links) <= copies


def test_a_lesson_whose_exercises_are_all_solved_is_done(shown):
    for text in shown({"pack": "solved", "unpack": "given up", "warp_reduce_sum": "solved"}):
        assert "1 of 2" in row_of("bitpacking", text)
        assert "done" in row_of("gemv", text)
        assert "0 of 3" in row_of("fused_dequant", text)
        assert "done" not in row_of("start_here", text)


def test_the_shortest_way_adds_up(shown):
    core = [lesson for lesson in lessons() if lesson.is_core]
    minutes = [stated_minutes(read_cells(ROOT / "notebooks" / x.file)) for x in core]
    for text in shown({}):
        numbers = [int(number) for number in re.findall(r"\d+", text.split("\n\n")[0])]
        assert numbers == [
            len(core),
            sum(m.lesson for m in minutes),
            sum(m.exercises for m in minutes),
        ]


def test_a_line_of_the_text_is_short_enough_to_stay_one(shown):
    _, text = shown({})
    assert max(map(len, text.splitlines())) <= 100
