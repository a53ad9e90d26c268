"""`pattern`: how a wrong output of no known mistake differs from the right one, in words.

It says what can be seen in the numbers, and names no cause that they do not show.
"""

import torch

from gemlite_lab.checker.compare import is_close

_HALF = 2.0**-9  # a few roundings to half precision, relative
_NOT_BY_CHANCE = 16  # so many right lines before the first wrong one
_FACTORS = (*(n / d for n in range(-16, 17) for d in range(1, 17)), 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)


def pattern(name, actual, expected, bound=None):
    """What is to be seen in `actual`, as the end of "..., but"; empty if nothing is.

    name: of the output. actual, expected: of one shape.
    """
    is_float = actual.dtype.is_floating_point
    actual, expected = actual.double(), expected.double()
    if (actual.isinf() & expected.isfinite()).sum() > actual.numel() / 2:
        return (
            f"most of {name} is infinite: a number is far too large, as a sum beyond the largest "
            "half, a code with bits of others in it, or a number without sign that went below 0"
        )
    seen = _Seen(actual, expected, bound, is_float)
    can_be_compared = actual.isfinite().all() and expected.isfinite().all() and expected.any()
    sentences = seen.sentences() if can_be_compared else (seen.part(),)
    return next((said.format(name) for said in sentences if said), "")


class _Seen:
    def __init__(self, actual, expected, bound, is_float):
        self._actual, self._expected, self._bound = actual, expected, bound
        self._is_float = is_float

    def sentences(self):
        yield self._constant()
        yield self._factor()
        yield self._difference()
        yield self._moved()
        yield self.part()
        yield self._rounded()

    def _is(self, other):
        return bool(is_close(self._actual, other, self._bound).all())

    def _constant(self):
        first = self._actual.flatten()[0]
        if self._actual.numel() > 1 and (self._actual == first).all():
            return f"all of {{}} is {first:g}"
        return None

    def _factor(self):
        """Exact multiples; a bound would make of small numbers what one likes."""
        at = self._expected.abs().argmax()
        ratio = float(self._actual.flatten()[at] / self._expected.flatten()[at])
        factor = min(_FACTORS, key=lambda factor: abs(factor - ratio))
        if factor in (0, 1) or abs(factor - ratio) > 1e-3 * abs(ratio):
            return None
        scaled = self._expected * factor
        close = (self._actual - scaled).abs() <= 2.0**-10 * scaled.abs()
        if not close.all():
            return None
        if factor == -1:
            return "all of {} has the opposite sign of the right one"
        return f"all of {{}} is {_times(factor)} the right one"

    def _difference(self):
        differences = self._actual - self._expected
        first = differences.flatten()[0]
        if differences.numel() > 1 and first != 0 and (differences == first).all():
            return f"all of {{}} is {abs(first):g} too {'large' if first > 0 else 'small'}"
        return None

    def _moved(self):
        expected = self._expected
        if expected.dim() != 2 or min(expected.shape) < 2:
            return None
        for axis, name in enumerate(("row", "column")):
            for by, where in ((1, "before"), (-1, "behind")):
                if self._is(expected.roll(by, axis)):
                    return f"each {name} of {{}} is the right one of the {name} {where} it"
            if self._is(expected.flip(axis)):
                return f"the {name}s of {{}} are in reverse order"
        if expected.shape[0] == expected.shape[1] and self._is(expected.T):
            return "{} is the right one transposed"
        return None

    def part(self):
        """Where the wrong elements are, if they are a simple set of elements, rows or columns."""
        wrong = ~is_close(self._actual, self._expected, self._bound)
        if wrong.dim() not in (1, 2) or wrong.all():
            return None
        sets = {"element": wrong} if wrong.dim() == 1 else _lines(wrong)
        for name, lines in sets.items():
            if not lines.all() and (said := _said_of(name, lines)):
                return said
        return None

    def _rounded(self):
        near = self._expected.abs().amax() * _HALF
        if self._expected.numel() < 2 or not self._is_float:
            return None
        off = (self._actual - self._expected).abs()
        # Sums that cancel may be off by more than they are, but most are not.
        is_far = (off > self._expected.abs()).sum() > (off > 0).sum() / 2
        if (off <= near).all() and not is_far:
            return (
                "no number of {} is far off: something is rounded, as by half precision or by an "
                "integer, or a small term is missing or too many"
            )
        return None


def _times(factor):
    if abs(factor) >= 1:
        return f"{factor:g} times"
    return (
        f"1 / {1 / factor:g} of" if abs(1 / factor - round(1 / factor)) < 1e-9 else f"{factor:g} of"
    )


def _lines(wrong):
    return {"row": wrong.any(1), "column": wrong.any(0)}


def _said_of(name, lines):
    """What is to be seen of the lines that are wrong, those that are True; empty if nothing is."""
    first, last = int(lines.nonzero()[0]), int(lines.nonzero()[-1])
    if first == last:
        return "" if name == "element" else f"only {name} {first} of {{}} is wrong"
    at = torch.arange(len(lines))
    if torch.equal(lines, (at >= first) & (at <= last)):
        return f"only the {name}s of {{}} from {first} to {last} are wrong"
    if torch.equal(lines, at % 2 == first % 2):
        which = "with even numbers" if first % 2 == 0 else "with odd numbers"
        return f"only the {name}s of {{}} {which} are wrong"
    if first >= _NOT_BY_CHANCE and lines[first:].float().mean() > 0.5:
        return f"the first {first} {name}s of {{}} are right, and most others are not"
    return ""
