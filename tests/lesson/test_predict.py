"""A prediction waits for a guess or a pass, and its answer shows only then."""

import pytest

from gemlite_lab.lesson import predict, reveal
from gemlite_lab.lesson.predict import NoGuess


@pytest.fixture(autouse=True)
def learner(tmp_path, monkeypatch):
    """No pass from outside, and a file for guesses of its own."""
    monkeypatch.delenv("GEMLITE_EDU_PREDICTIONS")
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


def test_without_a_guess_one_sentence_comes_and_no_answer(capsys):
    predict("sectors", None)
    with pytest.raises(NoGuess) as raised:
        reveal("sectors", 4321)
    (line,) = raised.value._render_traceback_()
    assert line == (
        'NoGuess: write your guess, or "pass", in place of None in predict("sectors", None), and '
        "run that cell before this one"
    )
    out = capsys.readouterr().out
    assert out == "sectors: put your number in place of None, then run this cell again\n"


def test_nothing_is_revealed_that_was_not_asked():
    with pytest.raises(NoGuess, match='run the cell with predict\\("never asked", ...\\) first'):
        reveal("never asked", 3)


def test_a_pass_from_outside_counts_where_no_guess_is(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PREDICTIONS", "pass")
    predict("sectors", None)
    reveal("sectors", 32)
    assert capsys.readouterr().out.splitlines()[1] == "sectors: it is 32"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "guess, sure, asked, answer",
    [
        (4, None, "you predict 4", "; you predicted 4"),
        (32, None, "you predict 32", "; you predicted 32, exactly"),
        (32, 0.9, "you predict 32, 90 % sure", "; you predicted 32, exactly"),
        ((30, 40), None, "you predict 30 to 40, 80 % sure", "; inside your 30 to 40"),
        ((30, 32), 0.5, "you predict 30 to 32, 50 % sure", "; inside your 30 to 32"),
        ([1.5, 2.5], 1, "you predict 1.5 to 2.5, 100 % sure", "; outside your 1.5 to 2.5"),
        ("pass", None, "you pass", "; you passed"),
    ],
)
def test_an_answer_stands_beside_the_guess(capsys, guess, sure, asked, answer):
    predict("sectors", guess, sure)
    reveal("sectors", 32)
    assert capsys.readouterr().out == f"sectors: {asked}\nsectors: it is 32{answer}\n"


@pytest.mark.parametrize(
    "guess, sure, message",
    [
        ("many", None, "a number, a range \\(low, high\\) or \"pass\", got 'many'"),
        (True, None, "a guess is a number"),
        ((1, 2, 3), None, "a range is two numbers, \\(low, high\\), got \\(1, 2, 3\\)"),
        ((1, None), None, "a range is two numbers"),
        ((5, 3), None, "a range goes from low to high, got \\(5, 3\\)"),
        (float("nan"), None, "a guess is finite"),
        ((1, float("inf")), None, "a guess is finite"),
        (4, 80, "sure is a share, such as 0.8 for 80 %, got 80"),
        (4, 0, "sure is a share"),
        (4, "very", "sure is a share"),
    ],
)
def test_what_is_no_guess_gets_a_sentence_and_opens_nothing(guess, sure, message):
    predict("wavefronts", None)
    with pytest.raises((TypeError, ValueError), match=message):
        predict("wavefronts", guess, sure)
    with pytest.raises(NoGuess):
        reveal("wavefronts", 3)
