"""Predict a number before you see it: a guess makes you learn more from the answer.

With GEMLITE_EDU_PREDICTIONS=pass every prediction that holds no guess passes: tests and
tools/refresh_notebooks.py run whole notebooks so.
"""

import os

from gemlite_edu.kernels.errors import OneSentence
from gemlite_lab.lesson.guess import PASS, guess_from, percent
from gemlite_lab.lesson.kept_guesses import keep

_guesses = {}  # what: a Guess, PASS, or None as long as nothing is written


class NoGuess(OneSentence, ValueError):
    """An answer was asked for before a guess."""


def predict(what, guess=None, sure=None):
    """Store your guess of `what`: a number, a range (low, high), or "pass" to see the answer only.

    sure: how sure you are, from 0 to 1, that the answer is your number, or in your range; of a
    range you are 0.8 sure unless you say otherwise. With None it asks you to write a guess.
    """
    if guess is None or (isinstance(guess, str) and guess == PASS):
        _guesses[what] = guess
        asked = "put your number in place of None, then run this cell again"
        print(f"{what}: {asked if guess is None else 'you pass'}")
        return
    _guesses[what] = guess = guess_from(guess, sure)
    print(f"{what}: you predict {guess}" + (f", {percent(guess.sure)} sure" if guess.sure else ""))


def reveal(what, measured):
    """Show the measured value of `what` beside your guess; raise NoGuess before there is one."""
    guess = _guesses.get(what)
    if what not in _guesses:
        raise NoGuess(f'run the cell with predict("{what}", ...) first')
    if guess is None and os.environ.get("GEMLITE_EDU_PREDICTIONS") != PASS:
        raise NoGuess(
            f'write your guess, or "{PASS}", in place of None in predict("{what}", None), and run '
            "that cell before this one"
        )
    if guess is not None:
        keep(what, guess, measured)
    print(f"{what}: it is {measured:g}" + _verdict(guess, measured))


def _verdict(guess, measured):
    if guess is None:
        return ""
    if guess == PASS:
        return "; you passed"
    if guess.low < guess.high:
        return f"; {'in' if guess.holds(measured) else 'out'}side your {guess}"
    return f"; you predicted {guess}" + (", exactly" if guess.holds(measured) else "")
