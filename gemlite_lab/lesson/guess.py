"""A guess: a number, a range, or none, and how sure the learner is of it."""

import math
from dataclasses import dataclass

PASS = "pass"
_SURE_OF_A_RANGE = 0.8


@dataclass(frozen=True)
class Guess:
    """low to high, both included; a guess of one number has low == high.

    sure: from 0 to 1, that the answer is in there; None: not said.
    """

    low: float
    high: float
    sure: float | None

    def __str__(self):
        if self.low == self.high:
            return f"{self.low:g}"
        return f"{self.low:g} to {self.high:g}"

    def holds(self, measured):
        return self.low <= measured <= self.high

    def middle(self):
        """What lies half-way by ratio between two positive ends, and half-way otherwise."""
        if self.low == self.high:
            return self.low
        if self.low > 0:
            return math.sqrt(self.low) * math.sqrt(self.high)
        return (self.low + self.high) / 2


def guess_from(value, sure=None):
    """The `Guess` that the learner wrote as a number or as (low, high)."""
    if isinstance(value, tuple | list):
        if len(value) != 2 or not all(map(_is_number, value)):
            raise TypeError(f"a range is two numbers, (low, high), got {value!r}")
        low, high = value
        sure = _SURE_OF_A_RANGE if sure is None else sure
    elif _is_number(value):
        low = high = value
    else:
        raise TypeError(f'a guess is a number, a range (low, high) or "{PASS}", got {value!r}')
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"a guess is finite, and a range goes from low to high, got {value!r}")
    if sure is not None and not (_is_number(sure) and 0 < sure <= 1):
        raise ValueError(f"sure is a share, such as 0.8 for 80 %, got {sure!r}")
    return Guess(low, high, sure)


def percent(share):
    """
    >>> percent(0.8)
    '80 %'
    """
    return f"{100 * share:.0f} %"


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)
