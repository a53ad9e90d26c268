"""Which CUDA texts decode the codes of a `Format` in the fast kernels."""

import re
from dataclasses import dataclass
from functools import cached_property

import torch

from gemlite_edu.kernels.holes import without_comments
from gemlite_edu.kernels.pair_table import COUNTS, table_texts

DECODING_HOLES = ("dequant_pair", "prepare_pairs")
_MOST_LOST = 2.0**-10  # largest relative error of a level in float16
_WITHOUT_LEVELS = re.compile(r"\bprepare_pairs\s*\(\s*(?:void\s*)?\)")


@dataclass(frozen=True)
class Coding:
    """How the codes of a `Format` become numbers, apart from its levels, which are a tensor.

    level_count: how many levels there are; 0: codes are integers.
    texts: the format's own CUDA texts as sorted pairs (hole, text); None: those of a table.
    fit_in_halves: True if float16 holds each level nearly, so that a table in halves may decode it.
    Raises ValueError if a text takes levels and there are none.

    >>> from gemlite_edu.numbers.formats import NF4, log2_format
    >>> [hole for hole, _ in Coding.of(NF4).decoders], Coding.of(log2_format(8)).decoders
    (['dequant_pair', 'prepare_pairs'], None)
    """

    level_count: int
    texts: tuple[tuple[str, str], ...] | None = None
    fit_in_halves: bool = True

    def __post_init__(self):
        if not self.level_count and takes_levels(dict(self.texts or ())):
            raise ValueError(
                "the text for prepare_pairs takes levels, and the format has none: give the format "
                "its levels"
            )

    @staticmethod
    def of(format):
        """The coding of a `Format`; None if its codes are integers that the kernels decode.

        Raises ValueError if its texts are those of a table of more or fewer levels than it has.
        """
        if format.levels is None:
            return None if format.texts is None else Coding(0, format.texts)
        count = len(format.levels)
        of_a_table = next((n for n in COUNTS if format.texts == _of_a_table(n)), None)
        if of_a_table not in (None, count):
            raise ValueError(
                f"the format has {count} levels, and its texts are those of pair_table for "
                f"{of_a_table}: leave texts out, and its levels are decoded by a table of {count}"
            )
        texts = None if of_a_table else format.texts
        return Coding(count, texts, texts is not None or _fit_in_halves(format.levels))

    @cached_property
    def decoders(self):
        """The texts for the holes of the fast kernels, as sorted pairs (hole, text).

        None if no text of these kernels decodes the format.
        """
        if self.texts is not None:
            return self.texts
        return _of_a_table(self.level_count) if self.fit_in_halves else None


def _of_a_table(count):
    return tuple(sorted(table_texts(count).items()))


def takes_levels(texts):
    """True if the text for `prepare_pairs` in {hole: text} takes the levels of a call.

    >>> takes_levels({"prepare_pairs": "__device__ void prepare_pairs(const float* levels) {}"})
    True
    >>> takes_levels({"prepare_pairs": "__device__ void prepare_pairs() {}"}), takes_levels({})
    (False, False)
    """
    text = texts.get("prepare_pairs")
    return text is not None and not _WITHOUT_LEVELS.search(without_comments(text))


def check_decoding_holes(format):
    """Raise ValueError if the format has a text for a hole that the fast kernels do not have."""
    others = [hole for hole in format.holes if hole not in DECODING_HOLES]
    if others:
        raise ValueError(
            f"the layer's kernels have the holes {' and '.join(DECODING_HOLES)}, and the format "
            f"has a text for {', '.join(others)}: write dequant_pair, or take GemvLinear"
        )


def _fit_in_halves(levels):
    exact = torch.tensor(levels, dtype=torch.float64)
    return bool(((exact.half().double() - exact).abs() <= _MOST_LOST * exact.abs()).all())
