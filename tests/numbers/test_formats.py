"""Each preset, value by value, against a reference that shares nothing with numbers/formats.py."""

from fractions import Fraction

import pytest
import torch

from gemlite_edu import (
    FP4_E2M1,
    FP6_E2M3,
    FP6_E3M2,
    FP8_E4M3,
    MXFP4,
    NF4,
    NVFP4,
    Format,
    log2_format,
)
from gemlite_edu.numbers import formats

BYTES = torch.arange(256, dtype=torch.uint8)
FLOATS = {(2, 1): FP4_E2M1, (2, 3): FP6_E2M3, (3, 2): FP6_E3M2, (4, 3): FP8_E4M3}


def by_the_formula(code, exponent_bits, mantissa_bits):
    """(-1)^S 2^(E - bias) (1 + 2^-m M), or for E = 0 (-1)^S 2^(1 - bias) (2^-m M); OCP MX v1.0."""
    bits = f"{code:0{1 + exponent_bits + mantissa_bits}b}"
    S, E, M = int(bits[0]), int(bits[1 : 1 + exponent_bits], 2), int(bits[1 + exponent_bits :], 2)
    bias = {2: 1, 3: 3, 4: 7}[exponent_bits]  # as the tables of the specifications have it
    fraction = Fraction(M, 2**mantissa_bits)
    number = (
        fraction * Fraction(2) ** (1 - bias)
        if E == 0
        else (1 + fraction) * Fraction(2) ** (E - bias)
    )
    return -float(number) if S else float(number)


def in_the_bits_of_a_half(nbits, exponent_bits, mantissa_bits):
    """All numbers, with their exponent and mantissa moved to a half's place, whose bias is 15."""
    codes = torch.arange(2**nbits, dtype=torch.int32)
    sign = (codes >> (nbits - 1)) << 15
    rest = (codes & (2 ** (nbits - 1) - 1)) << (10 - mantissa_bits)
    halves = (sign | rest).to(torch.uint16).view(torch.float16)
    return halves.double() * 2.0 ** (15 - (2 ** (exponent_bits - 1) - 1))


@pytest.mark.parametrize("bits", FLOATS)
def test_a_float_format_has_the_numbers_of_the_specification(bits):
    levels = torch.tensor(FLOATS[bits].levels, dtype=torch.float64)
    nbits = 1 + sum(bits)
    formula = torch.tensor([by_the_formula(code, *bits) for code in range(2**nbits)])
    halves = in_the_bits_of_a_half(nbits, *bits)
    is_number = torch.ones(2**nbits, dtype=torch.bool)
    if nbits == 8:
        is_number[[0x7F, 0xFF]] = False
    for reference in (formula.double(), halves):
        assert torch.equal(levels[is_number], reference[is_number])
        assert torch.equal(levels.signbit(), reference.signbit())


def test_fp8_is_the_type_of_torch_and_saturates_where_that_is_nan():
    levels, floats = torch.tensor(FP8_E4M3.levels), BYTES.view(torch.float8_e4m3fn).float()
    assert floats.isnan().nonzero().flatten().tolist() == [0x7F, 0xFF]
    assert torch.equal(levels[~floats.isnan()], floats[~floats.isnan()])
    assert levels[[0x7F, 0xFF]].tolist() == [448, -448]


def test_the_small_floats_are_those_written_in_the_specification():
    """Zero, largest and smallest normal, largest and smallest subnormal; MX v1.0, section 5.3."""
    assert FP4_E2M1.levels[:8] == (0, 0.5, 1, 1.5, 2, 3, 4, 6)
    assert FP4_E2M1.levels[8:] == (0, -0.5, -1, -1.5, -2, -3, -4, -6)
    assert [FP6_E2M3.levels[code] for code in (0, 0b11111, 0b01000, 0b00111, 1)] == [
        *(0, 7.5, 1, 0.875, 0.125)
    ]
    assert [FP6_E3M2.levels[code] for code in (0, 0b11111, 0b00100, 0b00011, 1)] == [
        *(0, 28, 0.25, 0.1875, 0.0625)
    ]


def test_nf4_is_made_of_quantiles_of_the_normal_distribution():
    """Dettmers et al. 2023: 8 levels up to 0 and 9 from 0 on, evenly spaced in probability."""
    offset = 0.9677083
    quantile = torch.distributions.Normal(0, 1).icdf
    positive = quantile(torch.linspace(offset, 0.5, 9, dtype=torch.float64)[:-1])
    negative = -quantile(torch.linspace(offset, 0.5, 8, dtype=torch.float64)[:-1])
    levels = torch.cat([negative, positive, torch.zeros(1)]).sort().values
    assert torch.allclose(torch.tensor(NF4.levels).double(), levels / levels.max(), atol=2e-6)


@pytest.mark.parametrize("nbits", range(1, 9))
def test_integers_and_powers_of_two_have_a_preset_of_each_width(nbits):
    assert getattr(formats, f"INT{nbits}") == Format(nbits)
    levels = torch.tensor(log2_format(nbits).levels, dtype=torch.float64)
    half = len(levels) // 2
    assert levels[half - 1] == 1 and torch.equal(levels[half:], -levels[:half])
    assert torch.equal(levels[1:half], 2 * levels[: half - 1])


@pytest.mark.parametrize("nbits, error", [(0, ValueError), (9, ValueError), ("4", TypeError)])
def test_a_width_without_powers_of_two_is_refused(nbits, error):
    with pytest.raises(error, match="nbits must be"):
        log2_format(nbits)


def test_the_scales_are_those_of_the_specifications():
    described = [
        (f.levels == FP4_E2M1.levels, f.group_size, f.scale_dtype, f.has_tensor_scale)
        for f in (MXFP4, NVFP4)
    ]
    assert described == [
        (True, 32, torch.float8_e8m0fnu, False),
        (True, 16, torch.float8_e4m3fn, True),
    ]
