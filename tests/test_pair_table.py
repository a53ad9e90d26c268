"""Levels of a table in the hole of the fast kernels: exactly these, in both kernels."""

from dataclasses import replace

import batch_cases
import fast_cases
import pytest
import torch
from fast_cases import BF16, FP16, make_case, run

from gemlite_edu import load
from gemlite_edu.pair_table import pair_table

# Sums of these with x of few digits are exact.
LEVELS = (
    -8.0,
    -1.5,
    -1.0,
    -0.25,
    0.0,
    2.0**-6,
    0.125,
    0.5,
    1.0,
    1.25,
    2.0,
    3.0,
    4.0,
    5.5,
    6.0,
    7.0,
)


@pytest.mark.parametrize(
    "case",
    [
        *(fast_cases.Case(4, M, 33, 320, 32, x_dtype) for M in (1, 3) for x_dtype in (FP16, BF16)),
        *(batch_cases.Case(4, 5, 72, 256, rows=rows) for rows in (16, 32)),
    ],
    ids=str,
)
@pytest.mark.parametrize("levels", [LEVELS, LEVELS[::2]], ids=len)
def test_a_code_stands_for_its_level(case, levels):
    inputs = make_case(case)
    inputs = replace(inputs, W_q=inputs.W_q % len(levels), zeros=0 * inputs.zeros)
    kernel = case.load(replace={"dequant_pair": pair_table(levels)})
    y = run(case, inputs, kernel=kernel)
    product = inputs.product(case)
    numbers = torch.tensor(levels).half()[product.codes.long()]
    assert torch.equal(y, replace(product, codes=numbers).exact().to(case.x_dtype))


@pytest.mark.parametrize("count", [16, 8])
def test_any_half_may_be_a_level(count):
    levels = torch.tensor([-65504.0, 65504.0, 2.0**-24, -(2.0**-14), 1 / 3, *range(11)]).half()
    levels, codes = levels[:count], torch.arange(count).view(1, count).byte()
    kernel = load("gemv_a16wn_fast", nbits=4, replace={"dequant_pair": pair_table(levels)})
    y = kernel(torch.eye(count).half(), *kernel.pack(codes, 1.0, 0.0))
    assert torch.equal(y.flatten(), levels)


def test_levels_of_any_numbers_are_rounded_to_halves():
    assert pair_table([1 / 3] * 16) == pair_table(torch.full((16,), 1 / 3, dtype=torch.float64))
    assert "0x3555, " in pair_table([1 / 3] * 16)


@pytest.mark.parametrize("levels", [range(15), [[0.0] * 16], [1e5] * 16, [torch.nan] * 16])
def test_what_is_no_table_is_refused(levels):
    with pytest.raises(ValueError, match="levels must be 16 or 8 numbers that fit in float16"):
        pair_table(levels)
