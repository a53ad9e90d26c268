"""Whether weights that are levels times a step may be rounded to 16 bits."""

import pytest
import torch

from gemlite_edu.numbers.formats import FP8_E4M3, NF4
from gemlite_edu.operators.weight import levels_fit_16_bits

FP16, BF16, TINY = torch.float16, torch.bfloat16, 2.0**-14
LEVELS = {"NF4": torch.tensor(NF4.levels), "FP8": torch.tensor(FP8_E4M3.levels)}
SMALLEST = {name: float(levels[levels != 0].abs().min()) for name, levels in LEVELS.items()}
CASES = {
    "all weights but 0 are normal": ("NF4", TINY / SMALLEST["NF4"], FP16, True),
    "the smallest is not": ("NF4", 0.99 * TINY / SMALLEST["NF4"], FP16, False),
    "groups of a model of today": ("NF4", 0.05, FP16, True),
    "far above the smallest normal number": ("FP8", 1024 * TINY / 448, FP16, True),
    "not far enough": ("FP8", 1023 * TINY / 448, FP16, False),
    "a type with more exponents": ("FP8", 1e-20, BF16, True),
    "too large": ("FP8", 65520 / 448, FP16, False),
    "no 16-bit type": ("NF4", 1.0, torch.float32, False),
}


@pytest.mark.parametrize(("name", "step", "dtype", "fits"), CASES.values(), ids=CASES)
def test_each_step_counts(name, step, dtype, fits):
    steps = torch.tensor([1.0, step, 0.0], dtype=torch.float64).float()
    assert levels_fit_16_bits(steps, LEVELS[name], dtype) == fits


def test_weights_that_fit_lose_no_more_than_half_a_digit():
    steps = torch.tensor([TINY / SMALLEST["NF4"], 0.05, 1.0])
    weights = steps.double()[:, None] * LEVELS["NF4"].double()
    assert ((weights.half().double() - weights).abs() <= 2.0**-11 * weights.abs()).all()


def test_groups_of_zeros_do_not_count():
    assert levels_fit_16_bits(torch.zeros(2), LEVELS["NF4"], FP16)
    assert not levels_fit_16_bits(None, torch.zeros(4), FP16)
