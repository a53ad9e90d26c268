"""Formats that other people defined, and linear integers, each with one scale per channel or group.

INT1 to INT8: integers with zeros and a float16 scale per channel.
NF4: the 16 levels of the 4-bit NormalFloat, Dettmers et al. 2023, arXiv 2305.14314, appendix E.
FP4_E2M1, FP6_E2M3, FP6_E3M2: sign, exponent and mantissa bits, without infinities and NaN; OCP
    Microscaling Formats (MX) Specification v1.0, section 5.3.
FP8_E4M3: torch.float8_e4m3fn as storage, with a float32 scale per channel. Its codes 0x7F and 0xFF
    are NaN in arithmetic. As weights they saturate: they stand for 448 and -448, the levels beside
    them. Quantization never makes these two codes. The other 254 codes are OCP 8-bit Floating Point
    Specification v1.0, table 1.
MXFP4: E2M1 with an E8M0 scale, a power of two, per group of 32; the MX specification, section 5.
NVFP4: E2M1 with an E4M3 scale per group of 16, and a float32 scale per tensor; NVIDIA, Introducing
    NVFP4 for Efficient and Accurate Low-Precision Inference, 2025.

`dataclasses.replace(NF4, group_size=64)` is NF4 with a scale per group of 64.
"""

from collections.abc import Sequence

import torch

from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.quantize import check_nbits


def _float_levels(exponent_bits: int, mantissa_bits: int) -> tuple[float, ...]:
    """The levels of a float format whose bits are sign, exponent and mantissa, from code 0 up.

    Exponents 0 and 1 have the same step, the smallest; each next exponent doubles it.
    """
    bias, per_exponent = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits
    step = 2.0 ** (1 - bias - mantissa_bits)
    magnitudes = [mantissa * step for mantissa in range(per_exponent)]
    for exponent in range(2**exponent_bits - 1):
        numbers = range(per_exponent, 2 * per_exponent)
        magnitudes += [number * step * 2.0**exponent for number in numbers]
    return _with_sign(magnitudes)


def _with_sign(magnitudes: Sequence[float]) -> tuple[float, ...]:
    """Levels of codes whose top bit is the sign, and whose other bits choose a magnitude."""
    return *magnitudes, *(-magnitude for magnitude in magnitudes)


def _saturated(levels: tuple[float, ...]) -> tuple[float, ...]:
    """The levels of E4M3, where the last code of either sign is NaN: it repeats the one before."""
    half = len(levels) // 2
    return *levels[: half - 1], levels[half - 2], *levels[half:-1], levels[-2]


def log2_format(nbits: int) -> Format:
    """The format of signed powers of two: the top bit is the sign, the others the exponent.

    With e from 0 to E = 2**(nbits - 1) - 1, a code stands for 2**(e - E) or -2**(e - E): the
    largest magnitude is 1, and 0 is no level. nbits: 1 to 8. One float16 scale per channel.
    Raises TypeError or ValueError for another width.
    Source: Miyashita et al. 2016, arXiv 1603.01025; they spend one code on 0.

    >>> log2_format(3).levels
    (0.125, 0.25, 0.5, 1.0, -0.125, -0.25, -0.5, -1.0)
    """
    check_nbits(nbits)
    largest = 2 ** (nbits - 1) - 1
    return Format(nbits, _with_sign([2.0 ** (e - largest) for e in range(largest + 1)]))


INT1, INT2, INT3, INT4, INT5, INT6, INT7, INT8 = (Format(nbits) for nbits in range(1, 9))
FP4_E2M1 = Format(4, _float_levels(2, 1))
MXFP4 = Format(4, FP4_E2M1.levels, group_size=32, scale_dtype=torch.float8_e8m0fnu)
NVFP4 = Format(
    4, FP4_E2M1.levels, group_size=16, scale_dtype=torch.float8_e4m3fn, has_tensor_scale=True
)
FP6_E2M3 = Format(6, _float_levels(2, 3))
FP6_E3M2 = Format(6, _float_levels(3, 2))
FP8_E4M3 = Format(8, _saturated(_float_levels(4, 3)), scale_dtype=torch.float32)
_NF4_LEVELS = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
NF4 = Format(4, _NF4_LEVELS)
