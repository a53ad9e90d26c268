"""`Model`: a right answer in parts, of which each mistake changes some.

A model computes the output of one mistake, or of two together, on any case. So the checker names a
mistake however it is spelled, without having seen such an answer before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import torch

_SAMPLED_ROWS = 3


@dataclass(frozen=True)
class Mistake:
    """words: the mistake, as the end of "Your output is exactly what comes out when ...".

    parts: {name of a part: its wrong value}, which does not depend on the number of rows of W.
    is_alone: it is not looked for together with another one, which saves time.
    """

    words: str
    parts: dict
    is_alone: bool = False


@dataclass(frozen=True)
class Model:
    """How an answer computes its output, and what may go wrong on the way.

    parts(case) -> {name: right value}. output(parts) -> the output, float64.
    mistakes(case) -> the `Mistake`s that are possible there.
    fitted(case, actual, is_equal) -> a mistake in words that is found from the output, or None.
    by_row: names of the parts that have the rows of W first; the output has them along `axis`. Most
    mistakes are told from the output by a few rows.
    """

    parts: Callable
    mistakes: Callable
    output: Callable
    by_row: tuple[str, ...] = ()
    axis: int = 1
    fitted: Callable = lambda case, actual, is_equal: None

    def explanations(self, case, actual, is_equal, size, contradicted=frozenset()):
        """Sets of so many mistakes, in words, that give `actual` together; size: 1 or 2.

        contradicted: mistakes, in words, that are not looked for.
        is_equal(actual, wrong, numbers) says if `actual` counts as the output `wrong` of a mistake;
        both have the rows with these numbers, or all rows for None.
        """
        mistakes = [m for m in self.mistakes(case) if m.words not in contradicted]
        right = self.parts(case)
        few, actual_few, numbers = right, actual, None
        if self.by_row:
            length = actual.shape[self.axis]
            numbers = torch.linspace(0, length - 1, min(_SAMPLED_ROWS, length)).round().long()
            few = right | {name: right[name][numbers] for name in self.by_row}
            actual_few = actual.index_select(self.axis, numbers)
        return [
            tuple(mistake.words for mistake in some)
            for some in combinations(mistakes, size)
            if _fit_together(some)
            and is_equal(actual_few, self._with(few, some), numbers)
            and is_equal(actual, self._with(right, some), None)
        ]

    def outputs(self, case):
        """{mistake in words: its output} of each mistake alone."""
        right = self.parts(case)
        return {mistake.words: self._with(right, [mistake]) for mistake in self.mistakes(case)}

    def wrong(self, case, words):
        """The output of these mistakes together."""
        some = [mistake for mistake in self.mistakes(case) if mistake.words in words]
        return self._with(self.parts(case), some)

    def _with(self, right, some):
        return self.output(right | {n: v for mistake in some for n, v in mistake.parts.items()})


def without_twins(mistakes):
    """The first of all mistakes with the same parts."""
    return list({_content(m.parts): m for m in reversed(mistakes)}.values())[::-1]


def _content(part):
    """A key that is the same for equal parts; torch prints only the ends of a large tensor."""
    if isinstance(part, torch.Tensor):
        return part.dtype, part.shape, part.double().contiguous().numpy().tobytes()
    if isinstance(part, dict):
        return tuple((name, _content(value)) for name, value in sorted(part.items()))
    if isinstance(part, list | tuple):
        return tuple(map(_content, part))
    return part


def _fit_together(some):
    """True for one mistake, and for two that change different parts."""
    if len(some) == 1:
        return True
    one, other = some
    return not (one.is_alone or other.is_alone or one.parts.keys() & other.parts.keys())
