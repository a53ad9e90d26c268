"""The scales and zeros that `quantize_to_format` chooses, from the range of each group.

Everything here is (N, groups). A group's reach is what its scale must cover: the largest |w| of a
table format, or for integers the span from its smallest to its largest number, 0 included.
"""

import torch

from gemlite_edu.numbers.bounds import SMALLEST_STEP
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.format import Format

_E8M0_BIAS = 127


def choose_scales(
    format: Format, reach: torch.Tensor
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """(scales in format.scale_dtype or None, tensor_scale () float32 or None) for a reach, float64.

    Raises ValueError if a scale is beyond the range of its dtype.
    """
    raw, tensor_scale = reach / format.largest, None
    if format.has_tensor_scale:
        largest = 1.0 if format.scale_dtype is None else torch.finfo(format.scale_dtype).max
        tensor_scale = _rounded(raw.max() / largest, torch.float32)
        raw = (raw / tensor_scale.double()).nan_to_num(0.0).clamp(max=largest)
    if format.scale_dtype is None:
        return None, tensor_scale
    if format.scale_dtype == torch.float8_e8m0fnu:
        return _powers_of_two(reach, format.largest), tensor_scale
    return _rounded(raw, format.scale_dtype), tensor_scale


def steps_of(
    scales: torch.Tensor | None, tensor_scale: torch.Tensor | None, reach: torch.Tensor
) -> torch.Tensor:
    """scale * tensor_scale of every group, float64; 1 without scales."""
    steps = torch.ones_like(reach) if scales is None else scales.double()
    return steps if tensor_scale is None else steps * tensor_scale.double()


def choose_zeros(
    low: torch.Tensor, high: torch.Tensor, steps: torch.Tensor, nbits: int
) -> torch.Tensor:
    """The whole zeros, float64, with which codes of these steps cover low to high, and 0.

    Where rounding has left the steps too small for that, both ends lose equally.
    """
    largest = 2**nbits - 1
    steps = torch.where(steps == 0, 1.0, steps)
    excess = ((high - low) / steps - largest).clamp(min=0)
    return (-low / steps - excess / 2).round().clamp(0, largest)


def _rounded(raw: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers from 0 up, rounded to `dtype`; those above 0 become at least its smallest number."""
    _check_range(raw, dtype)
    return torch.where(raw > 0, raw.clamp(min=SMALLEST_STEP[dtype]), 0.0).to(dtype)


def _powers_of_two(reach: torch.Tensor, largest: float) -> torch.Tensor:
    """2**(floor(log2 reach) - floor(log2 largest)) as float8_e8m0fnu; at least 2**-127."""
    _check_range(reach / largest, torch.float8_e8m0fnu)
    exponent = _floor_log2(reach) - _floor_log2(reach.new_tensor(largest))
    exponent = torch.where(reach == 0, -_E8M0_BIAS, exponent).clamp(-_E8M0_BIAS, _E8M0_BIAS)
    return (exponent + _E8M0_BIAS).to(torch.uint8).view(torch.float8_e8m0fnu)


def _floor_log2(numbers: torch.Tensor) -> torch.Tensor:
    """Exact, because frexp returns numbers as m 2**e with 1/2 <= m < 1."""
    return torch.frexp(numbers).exponent - 1


def _check_range(raw: torch.Tensor, dtype: torch.dtype) -> None:
    if raw.max() > torch.finfo(dtype).max:
        raise ValueError(
            f"a scale of {raw.max().item():g} does not fit in {name_of(dtype)}: "
            f"divide W by a constant, or choose another scale_dtype"
        )
