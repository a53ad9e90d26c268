"""The formats of the dequant_dot exercises: the value that each code stands for."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gemlite_edu.numbers.formats import FP4_E2M1, NF4


@dataclass(frozen=True)
class Format:
    """How codes become values: decode(codes float64, zeros float64) -> float64.

    sums_are_exact: every value is a multiple of 1/2.
    """

    name: str
    widths: tuple[int, ...]
    decode: Callable
    has_zeros: bool = False
    sums_are_exact: bool = True


def linear(name, widths):
    """The format in which the value of a code is the code minus a zero-point."""
    return Format(name, widths, lambda codes, zeros: codes - zeros, has_zeros=True)


def _twos_complement(codes, zeros):
    return codes - 16 * (codes >= 8)


def _lookup(table):
    values = torch.tensor(table, dtype=torch.float64)
    return lambda codes, zeros: values[codes.long()]


SIGNED = Format("dequant_dot_signed", (4,), _twos_complement)
NF4_TABLE = Format("dequant_dot_nf4", (4,), _lookup(NF4.levels), sums_are_exact=False)
FP4 = Format("dequant_dot_fp4", (4,), _lookup(FP4_E2M1.levels))
