"""Fingerprints of wrong outputs, from which the checker recognizes the mistake behind an output.

A fingerprint names a mistake and never judges: `check` compares an output with the right one, and
asks this module only if the output is wrong. tools/fingerprint_mistakes.py runs the wrong answers
in tests/wrong and writes {mistake: fingerprints of its outputs} to one file per exercise.
"""

import hashlib
import json
from functools import cache
from pathlib import Path

import torch

from gemlite_lab.checker.compare import is_close

FOLDER = Path(__file__).parent / "fingerprints"
_HEX_DIGITS = 16
_NUMBERS = 16
_ROUNDED = "~"  # stands before the numbers of an output that is not exact


def fingerprint(exercise, case, output):
    """A short text that distinguishes this output on a case from others.

    For an exact output it is a hash of the right output and of this one. Equal numbers have equal
    hashes, whatever the sign of a zero or the bits of a NaN. For an output that may be rounded it
    is some of its numbers.
    """
    right, bound = exercise.expected(case)
    if bound is not None:
        return " ".join([_ROUNDED, *(f"{value:.9g}" for value in _some_of(output).tolist())])
    return hashlib.sha256(_bytes_of(right) + _bytes_of(output)).hexdigest()[:_HEX_DIGITS]


def mistake_of(exercise, case, output):
    """The known mistake that gives `output` on this case, in words; None if there is none."""
    known = _known(exercise.name)
    _, bound = exercise.expected(case)
    if bound is None:
        return known.get(fingerprint(exercise, case, output))
    numbers, bound = _some_of(output), _some_of(bound)
    for text, mistake in known.items():
        mark, *values = text.split()
        if mark == _ROUNDED and len(values) == len(numbers):
            wrong = torch.tensor([float(value) for value in values], dtype=torch.float64)
            if is_close(numbers, wrong, exercise.bound_around(wrong, bound)).all():
                return mistake
    return None


def is_known_once(exercise, mistake):
    """True if only one output of this mistake is known."""
    return list(_known(exercise.name).values()).count(mistake) == 1


def path_of(name):
    """The file with the fingerprints of this exercise."""
    return FOLDER / f"{name}.json"


@cache
def _known(name):
    """{fingerprint: mistake} of an exercise; empty if it has no fingerprints yet."""
    mistakes = json.loads(path_of(name).read_text()) if path_of(name).exists() else {}
    return {text: mistake for mistake, texts in mistakes.items() for text in texts}


def _bytes_of(tensor):
    values = tensor.detach().cpu().double() + 0.0  # -0.0 + 0.0 is 0.0
    return values.masked_fill(values.isnan(), torch.nan).contiguous().numpy().tobytes()


def _some_of(tensor):
    """At most 16 numbers of a tensor, spread evenly from first to last, as float64."""
    numbers = tensor.detach().cpu().double().flatten()
    places = torch.linspace(0, len(numbers) - 1, min(_NUMBERS, len(numbers)))
    return numbers[places.round().long()]
