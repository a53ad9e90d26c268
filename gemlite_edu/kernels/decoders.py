"""Which CUDA texts decode the codes of a `Format` in the fast kernels."""

import torch

from gemlite_edu.kernels.pair_table import pair_table

DECODING_HOLES = ("dequant_pair", "prepare_pairs")
_MOST_LOST = 2.0**-10  # largest relative error of a level in float16


def decoders(format):
    """The texts for the holes of the fast kernels, as sorted pairs (hole, text).

    format: a `Format`, or None for codes that are integers. () stands for the kernels' own texts.
    Returns None if no text of these kernels decodes the format.

    >>> from gemlite_edu.numbers.formats import INT4, NF4, log2_format
    >>> decoders(INT4), [hole for hole, _ in decoders(NF4)], decoders(log2_format(8))
    ((), ['dequant_pair', 'prepare_pairs'], None)
    """
    if format is None:
        return ()
    if format.texts is not None:
        return format.texts
    if format.levels is None:
        return ()
    if not _fit_in_halves(format.levels):
        return None
    return tuple(sorted(pair_table(format).items()))


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
