"""Guesses are kept, the first of each prediction counts, and a picture shows how good they are."""

import re

import pytest
from IPython import display

from gemlite_lab.draw.guesses import by_sureness
from gemlite_lab.lesson import guesses, predict, reveal
from gemlite_lab.lesson.kept_guesses import kept_guesses


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """The file of the guesses."""
    monkeypatch.delenv("GEMLITE_EDU_PREDICTIONS")
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "work" / "progress.json"))
    return tmp_path / "work" / "guesses.jsonl"


@pytest.fixture
def pictures(monkeypatch):
    found = []
    monkeypatch.setattr(display, "display", lambda shown: found.append(shown.data))
    return found


def guess(what, value, measured, sure=None):
    predict(what, value, sure)
    reveal(what, measured)


def test_the_first_guess_of_each_prediction_is_kept(file):
    guess("sectors", (3, 5), 4, sure=0.5)
    guess("banks", "pass", 32)
    before = file.read_text()
    guess("sectors", 4, 4)
    guess("banks", 32, 32)
    assert file.read_text() == before
    sectors, banks = kept_guesses()
    assert (sectors.what, sectors.measured, banks.guess) == ("sectors", 4, None)
    assert (sectors.guess.low, sectors.guess.high, sectors.guess.sure) == (3, 5, 0.5)


def test_a_guess_may_change_until_the_answer_shows():
    predict("sectors", 8)
    guess("sectors", 4, 4)
    assert [kept.guess.low for kept in kept_guesses()] == [4]


def test_a_damaged_file_gets_a_sentence_and_stays(file):
    file.parent.mkdir()
    file.write_text('{"what": "sectors"}\n')
    with pytest.raises(ValueError, match="guesses.jsonl is damaged .*rename it to start afresh"):
        guesses()
    with pytest.raises(ValueError, match="is damaged"):
        guess("banks", 3, 3)
    assert file.read_text() == '{"what": "sectors"}\n'


def test_outside_a_workbook_a_reveal_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS")
    monkeypatch.chdir(tmp_path)
    guess("sectors", 4, 4)
    assert kept_guesses() == []
    assert not list(tmp_path.iterdir())


def test_without_a_guess_it_says_what_to_do(capsys, pictures):
    guess("banks", "pass", 32)
    capsys.readouterr()
    guesses()
    assert "write a number in place of None, or a range such as (3, 5)" in capsys.readouterr().out
    assert not pictures


def test_three_guesses_are_told_and_drawn(capsys, pictures):
    guess("sectors", 8, 4)
    guess("bytes", (2, 8), 1.0)
    guess("error", (0.1, 0.3), 0.25, sure=0.6)
    guess("banks", "pass", 32)
    capsys.readouterr()
    guesses()
    _, *rows, half, sure = capsys.readouterr().out.splitlines()
    assert [re.sub(" +", " ", row.strip()) for row in rows] == [
        "1 sectors 8 4 2 times too high",
        "2 bytes 2 to 8 1 4 times too high, 80 % sure",
        "3 error 0.1 to 0.3 0.25 right, 60 % sure",
    ]
    assert half == "Half of your guesses are off by a factor of 2 at most. You passed 1 more."
    assert sure == (
        "Of 2 guesses you expected 1.4 to be right, and 1 turned out so: "
        "from 5 guesses on, that tells something."
    )
    (svg,) = pictures
    assert svg.startswith("<svg ") and "2 of 3 guesses are within a factor of 2" in svg
    assert "currentColor" in svg and "#000000" not in svg and "<style" not in svg


@pytest.mark.parametrize(
    "value, measured, words",
    [
        (0, 0, "right"),
        (5, 0, "too high"),
        (0, 5, "too low"),
        (-3, 4, "too low"),
        ((0, 10), 20, "4 times too low"),
        (1, 1e9, "1e+09 times too low"),
    ],
)
def test_answers_and_guesses_of_any_sign_are_told_and_drawn(
    value, measured, words, capsys, pictures
):
    guess("it", value, measured)
    capsys.readouterr()
    guesses()
    row = capsys.readouterr().out.splitlines()[1]
    assert re.search(rf" {re.escape(words)}(, 80 % sure)?$", row)
    assert len(pictures) == 1


@pytest.mark.parametrize(
    "right, advice",
    [(2, "widen your ranges"), (9, "as sure as you should be"), (10, "narrow your ranges")],
)
def test_the_advice_follows_from_how_often_one_is_right(right, advice, capsys, pictures):
    sure = 0.85 if right < 10 else 0.6
    for number in range(10):
        guess(f"number {number}", (1, 3), 2 if number < right else 9, sure=sure)
    guesses()
    assert advice in capsys.readouterr().out
    assert by_sureness([(sure, number < right) for number in range(10)]) == [
        (pytest.approx(sure), right, 10)
    ]
