"""Mistakes in a formula: what the models of the two exercises of the roofline share."""

import math
from functools import partial

from gemlite_lab.checker.mistakes.model import Mistake


def rounded(what, unit):
    """Mistakes of the part `result`: a number in `unit`, called `what`, is rounded."""
    results = {
        f"the {what} is rounded to a whole number of {unit}": round,
        f"the {what} is rounded down to whole {unit}": math.floor,
        f"the {what} is rounded up to whole {unit}": math.ceil,
    } | {
        f"the {what} is rounded to a multiple of {10.0**-digits:g} {unit}":
            partial(round, ndigits=digits)
        for digits in (1, 2, 3)
    }  # fmt: skip
    return [Mistake(words, {"result": how}, is_alone=True) for words, how in results.items()]


def named(wrong):
    """The mistakes of {part: {mistake in words: wrong value}}."""
    return [
        Mistake(words, {name: value})
        for name, of_part in wrong.items()
        for words, value in of_part.items()
    ]
