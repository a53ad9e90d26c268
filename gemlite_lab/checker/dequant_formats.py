"""The formats of the dequant_dot exercises: what a code stands for, and what it does not."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gemlite_edu.numbers.formats import FP4_E2M1, NF4


@dataclass(frozen=True)
class Format:
    """How codes become values: decode(codes float64, zeros float64) -> float64.

    wrong_values: {mistake: Tiles -> the values it gives to the codes}. is_table: codes index a
    table, so that one out of range has no predictable value. sums_are_exact: every value is a
    multiple of 1/2.
    """

    name: str
    widths: tuple[int, ...]
    decode: Callable
    wrong_values: dict[str, Callable]
    has_zeros: bool = False
    is_table: bool = False
    sums_are_exact: bool = True


def _middle(tiles):
    return 2 ** (tiles.case.nbits - 1)


def _as_unsigned(values):
    """Negative values as 32 bits without a sign hold them."""
    return values + 2.0**32 * (values < 0)


_WRONG_ZERO_POINTS = {
    "the zero-point is forgotten": lambda t: t.codes,
    "the zero-point is added instead of subtracted": lambda t: t.codes + t.zeros,
    "the code is subtracted from the zero-point": lambda t: t.zeros - t.codes,
    "the zero-point is one too large": lambda t: t.codes - t.zeros - 1,
    "the zero-point is one too small": lambda t: t.codes - t.zeros + 1,
    "the zero-point is taken to be the middle code": lambda t: t.codes - _middle(t),
    "the zero-point is put in an integer, which cuts off its fraction": (
        lambda t: t.codes - t.zeros.trunc()
    ),
    "code minus zero-point is unsigned, so that it wraps around below 0": (
        lambda t: _as_unsigned(t.codes - t.zeros.trunc())
    ),
    "the codes are sign-extended; they are unsigned": (
        lambda t: t.codes - 2 * _middle(t) * (t.codes >= _middle(t)) - t.zeros
    ),
}


def linear(name, widths):
    return Format(name, widths, lambda q, z: q - z, _WRONG_ZERO_POINTS, has_zeros=True)


def _twos_complement(codes, zeros=None):
    return codes - 16 * (codes >= 8)


def _signed_words(tiles):
    return tiles.words - 2**32 * (tiles.words >= 2**31)


SIGNED = Format(
    "dequant_dot_signed",
    (4,),
    _twos_complement,
    {
        "the codes are taken as unsigned, 0 to 15": lambda t: t.codes,
        "8 is subtracted from the codes, but two's complement has -8 at code 8": (
            lambda t: t.codes - 8
        ),
        "the top bit is taken as a sign beside a 3-bit magnitude": (
            lambda t: torch.where(t.codes >= 8, 8 - t.codes, t.codes)
        ),
        "code 8 stays 8; it stands for -8": lambda t: t.codes - 16 * (t.codes > 8),
        "15 is subtracted from codes 8 to 15; it is 16": lambda t: t.codes - 15 * (t.codes >= 8),
        "code - 16 is unsigned, so that it wraps around below 0": (
            lambda t: _as_unsigned(_twos_complement(t.codes))
        ),
        "the signed word is shifted right and not masked, so that the codes above it stay in": (
            lambda t: t.read(-1, words=_signed_words(t))
        ),
    },
)


def _lookup(table):
    values = torch.tensor(table, dtype=torch.float64)
    return lambda codes, zeros=None: values[codes.long()]


NF4_TABLE = Format(
    "dequant_dot_nf4",
    (4,),
    _lookup(NF4),
    {
        "the codes themselves are used, not the values of the table": lambda t: t.codes,
        "the table is read backwards": lambda t: _lookup(NF4[::-1])(t.codes),
        "the codes are taken as evenly spaced from -1 to 1": lambda t: t.codes * 2 / 15 - 1,
        "8 is subtracted from the codes": lambda t: t.codes - 8,
        "0 is left out of the table, so that it ends early": (
            lambda t: _lookup((*NF4[:7], *NF4[8:], 0.0))(t.codes)
        ),
        "the table holds its values in half precision": (
            lambda t: _lookup(torch.tensor(NF4).half().tolist())(t.codes)
        ),
    },
    is_table=True,
    sums_are_exact=False,
)

_fp4 = _lookup(FP4_E2M1)


def _signs(tiles):
    return 1 - 2 * (tiles.codes >= 8)


FP4 = Format(
    "dequant_dot_fp4",
    (4,),
    _fp4,
    {
        "the codes themselves are used, not the numbers they stand for": lambda t: t.codes,
        "the sign bit is ignored": lambda t: _fp4(t.codes % 8),
        "the sign is the lowest bit instead of the highest": (
            lambda t: _fp4(t.codes // 2) * (1 - 2 * (t.codes % 2))
        ),
        "the exponent is one too large: its bias is 1": lambda t: _fp4(t.codes) * 2,
        "exponent 0 is given a hidden one; it has none: codes 0 and 1 are 0 and 0.5": (
            lambda t: torch.where(
                t.codes % 8 < 2, (0.5 + 0.25 * (t.codes % 2)) * _signs(t), _fp4(t.codes)
            )
        ),
        "m / 2 is a division of integers, which drops the half: write 0.5f * m": (
            lambda t: _lookup((0, 0, 1, 1, 2, 2, 4, 4))(t.codes % 8) * _signs(t)
        ),
        "2^(e - 1) is written with ^, which is XOR in C: write 1 << (e - 1)": (
            lambda t: _lookup((0, 0.5, 2, 3, 3, 4.5, 0, 0))(t.codes % 8) * _signs(t)
        ),
        "the three bits below the sign are taken as an integer": lambda t: t.codes % 8 * _signs(t),
        "the codes are taken as two's complement": lambda t: _twos_complement(t.codes),
        "the table goes from the smallest to the largest value; code 0 is 0, code 8 is -0": (
            lambda t: _lookup(sorted(FP4_E2M1))(t.codes)
        ),
        "the negative half of the table is mirrored; code 9 is -0.5, code 15 is -6": (
            lambda t: _lookup((*FP4_E2M1[:8], *FP4_E2M1[:7:-1]))(t.codes)
        ),
    },
    is_table=True,
)
