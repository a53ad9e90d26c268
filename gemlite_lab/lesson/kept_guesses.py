"""The learner's guesses, kept in guesses.jsonl beside the record of exercises.

Each line is one guess with its answer. Lines are only ever appended, and only the first one of each
prediction counts: whoever guesses again has seen the answer.
"""

import json
from dataclasses import dataclass

from gemlite_lab.lesson.guess import PASS, Guess
from gemlite_lab.lesson.record import place_beside


@dataclass(frozen=True)
class KeptGuess:
    """guess: a `Guess`, or None if the learner passed."""

    what: str
    guess: Guess | None
    measured: float


def kept_guesses():
    """All of them, in the order in which the answers were shown."""
    path = _path()
    if path is None or not path.exists():
        return []
    try:
        return [_kept(json.loads(line)) for line in path.read_text().splitlines()]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}): rename it to start afresh") from None


def keep(what, guess, measured):
    """Keep `guess`, a `Guess` or PASS, unless there is one of `what` or no workbook to keep it."""
    path = _path()
    if path is None or any(kept.what == what for kept in kept_guesses()):
        return
    line = {"what": what, "guess": PASS, "measured": float(measured)}
    if guess != PASS:
        line |= {"guess": [guess.low, guess.high], "sure": guess.sure}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _kept(line):
    passed = line["guess"] == PASS
    guess = None if passed else Guess(*line["guess"], line["sure"])
    return KeptGuess(line["what"], guess, line["measured"])


def _path():
    return place_beside("guesses.jsonl")
