"""`grade` on thirty and more submissions, and what becomes of a book that was interrupted."""

import csv
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from handed_in import POINTS, hand_in_all, python, text_of

from gemlite_lab.classroom import grade as grading
from gemlite_lab.classroom.__main__ import main
from gemlite_lab.classroom.gradebook import Gradebook
from gemlite_lab.classroom.plan import ROOT, units_of
from gemlite_lab.classroom.referee import Referee, Verdict
from gemlite_lab.classroom.submissions import LARGEST_NOTEBOOK

_LOOKS = 300
TASKS = [task for unit in units_of(1) for task in unit.tasks]


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def processes_below(folder):
    """The processes whose current folder is or was below `folder`, as are those of a referee."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [link] if str(folder) in os.readlink(link) else []
    return found


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """(the book's path, the points that it should have), after `grade` on all submissions."""
    folder = tmp_path_factory.mktemp("class")
    book = folder / "out" / "grades.csv"
    expected = hand_in_all(folder / "submitted", book)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        main(["grade", str(folder / "submitted"), "--out", str(book), "--week", "1"])
    return book, expected


def test_every_student_has_exactly_the_points_of_the_right_answers(graded):
    book, expected = graded
    assert len(expected) >= 30
    rows = rows_of(book)
    assert {student: int(row["points"]) for student, row in rows.items()} == expected
    most = {task.name: task.points for task in TASKS}
    for row in rows.values():
        marks = {name: int(row[name]) for name in most}
        assert sum(marks.values()) == int(row["points"])
        assert all(mark in (0, most[name]) for name, mark in marks.items())
        assert int(row["of"]) == sum(most.values())
    assert list(rows) == sorted(rows)


def test_a_page_tells_each_student_why(graded):
    book, _ = graded
    says = {
        "right-both": "right (02_bitpacking_exercises.ipynb)",
        "wrong-stub": "unpack returned None: write it, and return W_q",
        "wrong-none": "no cell of 02_bitpacking_exercises.ipynb defines unpack",
        "broken-syntax": "the cell that defines unpack is no Python: expected ':'",
        "broken-json": "02_bitpacking_exercises.ipynb is not JSON, as a notebook is",
        "broken-nested": "is not JSON, as a notebook is",
        "broken-cells": "is no notebook of format 4",
        "broken-latin1": "is not JSON, as a notebook is",
        "broken-empty": "there is no notebook (.ipynb) in it",
        "broken-archive.zip": "is neither a folder nor a notebook (.ipynb): unpack it first",
        "hostile-link": "02_bitpacking_exercises.ipynb is a link, and was left out",
        "hostile-folder-link": "is a link, and links are not followed",
        "hostile-pipe": "is no regular file, and was left out",
        "hostile-huge": "has more than 20 MB, and was left out",
        "hostile-reads-solution": "PermissionError",
        "hostile-too-much-code": "has more than 1000000 characters of code",
        "hostile-exits": "unpack raised SystemExit",
        "hostile-exits-hard": "unpack ended its own process",
        "hostile-endless": "unpack did not end within 10 s of processor time",
        "hostile-forks": "PermissionError",
        "hostile-writes-grades": "PermissionError",
        "hostile-kernel": "the text for cuda_index must not include files",
        "Zoë": "there is more than one submission by the name Zoë",
    }
    pages = book.with_suffix(".comments")
    for student, sentence in says.items():
        assert sentence in (pages / f"{student}.md").read_text(encoding="utf-8"), student
    assert len(list(pages.iterdir())) == len(POINTS) + 1


def test_a_page_moves_no_cursor(graded):
    book, _ = graded
    page = (book.with_suffix(".comments") / "hostile-escapes.md").read_text(encoding="utf-8")
    assert "[2J passed" in page and "\x1b" not in page


def test_no_page_tells_the_seed_and_only_its_owner_may_read_it(graded):
    book, _ = graded
    seed = book.with_suffix(".seed")
    assert seed.stat().st_mode & 0o077 == 0
    for page in book.with_suffix(".comments").iterdir():
        assert "seed" not in page.read_text(encoding="utf-8")


def test_it_leaves_no_process_behind(graded):
    book, _ = graded
    for _ in range(_LOOKS):  # a process that was killed takes a moment to end
        if not processes_below(book.parent.parent):
            break
        time.sleep(0.1)
    assert processes_below(book.parent.parent) == []


def test_a_second_run_checks_only_what_changed(graded, monkeypatch, capsys):
    book, expected = graded
    submitted = book.parent.parent / "submitted"
    before = rows_of(book)
    judged = []
    monkeypatch.setattr(
        Referee, "verdict", lambda self, paths, *_: judged.append(paths) or Verdict(True, "right")
    )
    python("unpack = None")(submitted / "wrong-none")
    main(["grade", str(submitted), "--out", str(book), "--week", "1"])
    assert {path.parent.name for paths in judged for path in paths} == {"wrong-none"}
    after = rows_of(book)
    assert before.pop("wrong-none") != after.pop("wrong-none")
    assert before == after
    assert f"right-both: {expected['right-both']} points" in capsys.readouterr().out


def test_an_answer_that_takes_too_long_is_given_up_and_the_next_one_is_judged(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    slow = tmp_path / "slow_bitpacking.ipynb"
    slow.write_text(text_of("def unpack(*arguments):\n    while True: pass"))
    with Referee(seconds=0.5) as referee:
        given_up = referee.verdict([slow], "unpack", "unpack", 1)
        assert processes_below(tmp_path) == []
        assert not given_up.is_right and "did not end within 0.5 s" in given_up.said
        referee._seconds = 60
        assert "no cell of" in referee.verdict([slow], "pack", "pack", 1).said
        os.kill(referee._worker.pid, 9)
        assert "ended on this answer" in referee.verdict([slow], "pack", "pack", 1).said
    assert processes_below(tmp_path) == []


class Interrupted:
    """A referee who judges so many answers right, and then is interrupted."""

    def __init__(self, answers):
        self.left = answers

    def __call__(self, seconds):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def verdict(self, *request):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return Verdict(True, "right")


@pytest.fixture
def three(tmp_path):
    """A folder with three submissions of an answer to unpack."""
    for student in ("ada", "ben", "cyd"):
        python("def unpack(*arguments): pass")(tmp_path / student)
    return tmp_path


def test_an_interrupted_book_keeps_its_rows_and_is_completed(three, tmp_path_factory, monkeypatch):
    book = tmp_path_factory.mktemp("out") / "grades.csv"
    of_a_student = len(next(u for u in units_of(1) if u.lesson.slug == "bitpacking").tasks)
    monkeypatch.setattr(grading, "Referee", Interrupted(2 * of_a_student))
    with pytest.raises(KeyboardInterrupt):
        grading.grade(three, book, week=1)
    assert list(rows_of(book)) == ["ada", "ben"]
    with book.open("a") as file:
        file.write("cyd,1")  # a row that was cut short
    monkeypatch.setattr(grading, "Referee", Interrupted(of_a_student))
    grading.grade(three, book, week=1)
    assert list(rows_of(book)) == ["ada", "ben", "cyd"]


def test_all_students_meet_the_same_hidden_cases_and_each_exercise_its_own(tmp_path):
    one = Gradebook(tmp_path / "one.csv", TASKS)
    again = Gradebook(tmp_path / "one.csv", TASKS)
    other = Gradebook(tmp_path / "other.csv", TASKS, seed=5)
    seeds = [one.seed_of(task) for task in TASKS]
    assert seeds == [again.seed_of(task) for task in TASKS]
    assert len(set(seeds)) == len(TASKS)
    assert seeds != [other.seed_of(task) for task in TASKS]
    with pytest.raises(ValueError, match="has another seed than 6"):
        Gradebook(tmp_path / "other.csv", TASKS, seed=6)


def test_a_book_of_other_exercises_is_not_written_over(three, tmp_path_factory):
    book = tmp_path_factory.mktemp("out") / "grades.csv"
    book.write_text("name,grade\nada,1\n")
    with pytest.raises(SystemExit, match="has other columns"):
        main(["grade", str(three), "--out", str(book), "--week", "1"])
    assert book.read_text() == "name,grade\nada,1\n"


def test_the_book_may_not_lie_among_the_submissions(three):
    with pytest.raises(SystemExit, match="lies among the submissions"):
        main(["grade", str(three), "--out", str(three / "grades.csv")])


def test_a_folder_that_is_none_gets_one_sentence(tmp_path):
    with pytest.raises(SystemExit, match="is no folder"):
        main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out" / "grades.csv")])


def test_the_process_that_checks_stands_in_an_empty_folder():
    with Referee(seconds=1) as referee:
        assert list(Path(referee._folder.name).iterdir()) == []


def test_the_page_for_teachers_counts_these_submissions():
    page = (ROOT / "docs" / "classroom.md").read_text()
    assert f"The tests grade {len(POINTS) + 1} made submissions" in page
    assert f"at most {grading.SECONDS} s" in page and f"{LARGEST_NOTEBOOK >> 20} MB" in page
