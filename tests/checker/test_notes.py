"""After a pass: our solution, why it is so, and another way that the checker accepts."""

import re
from pathlib import Path

import pytest

from gemlite_lab import give_up, solution
from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.notes import FOLDER, note_of
from gemlite_lab.checker.workbook import solution_text

TESTS = Path(__file__).parent.parent
SET = [exercise.name for exercise in EXERCISES.values() if exercise.lesson]


def bare(text):
    """A program's text without comments and white space."""
    return re.sub(r"//.*|#.*|\s", "", text)


def test_every_exercise_of_a_lesson_has_a_note_and_no_other():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(SET)


@pytest.mark.parametrize("name", SET)
def test_why_is_two_to_four_sentences(name):
    ends = re.findall(r"[.?:!](?=\s|$)", note_of(name).why.replace(":", ","))
    assert 2 <= len(ends) <= 4
    assert note_of(name).other_is.endswith(".")


@pytest.mark.parametrize("name", SET)
def test_the_other_way_is_of_the_bank_and_not_ours(name):
    """tests/checker/test_wrong_answers.py checks every right answer of the bank."""
    other = (TESTS / "right" / name / note_of(name).other).read_text()
    region = re.search(r"BEGIN SOLUTION(.*)\n.*END SOLUTION", solution_text(name), re.DOTALL)[1]
    assert bare(region) not in bare(other)


@pytest.mark.parametrize("name", SET)
def test_a_solution_shows_why_and_another_way(name, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    give_up(name)
    capsys.readouterr()
    solution(name)
    ours, _, rest = capsys.readouterr().out.partition("\n\nWhy so: ")
    why, _, other = rest.partition("\n\nAnother way: ")
    assert "SOLUTION" not in ours and "check(" not in ours
    assert why.split() == note_of(name).why.split()
    assert other.split("\n\n")[0].split() == note_of(name).other_is.split()
    code = other.split("\n\n", 1)[1]
    text = (TESTS / "right" / name / note_of(name).other).read_text()
    if code.startswith("Lines with - are ours"):
        taken = [line[1:] for line in code.splitlines()[1:] if line[:1] in "+ "]
        assert set(taken) <= {line.partition("  #")[0] for line in text.splitlines()}
        assert "\n-" in code and "\n+" in code
    else:
        assert code.strip() == text.strip()
