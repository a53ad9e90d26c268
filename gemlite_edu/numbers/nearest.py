"""Quantize a matrix to any `Format`: a scale per group, then the nearest level for each weight."""

from functools import lru_cache

import torch

from gemlite_edu.numbers.coded_weight import CodedWeight, check_is_format, row_blocks
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.quantize import (
    check_finite,
    check_matrix_of_floats,
    nearest_integers,
    range_with_zero,
)
from gemlite_edu.numbers.scale_rules import choose_scales, choose_zeros, steps_of

_MOST_EXCESS = 2  # of a scale over the one that its group needs


def quantize_to_format(W: torch.Tensor, format: Format) -> CodedWeight:
    """Quantize `W` (N, K), any float dtype on any device, to a `Format`: returns a `CodedWeight`.

    A group's scale is its largest |w| over the largest |level|; for integers, the span of the group
    and 0 over 2**nbits - 1. It is rounded to format.scale_dtype, to 0 only for a group of zeros.
    Then the codes are chosen for the rounded scale, in float64:

    - a table: of all levels, the one whose product with the scale is nearest to w. If two are
      equally near, the one with the even code, as floats round half to even; if that does not
      decide, and of equal levels, the one with the smaller code.
    - integers: as `quantize_linear`, not symmetric, with a whole zero from 0 to 2**nbits - 1.

    float8_e8m0fnu scales are 2**(floor(log2 max |w|) - floor(log2 max |level|)), from 2**-127 on.
    So w may be up to 4/3 of the largest E2M1 number, and becomes that number.
    The tensor scale is the largest scale of a group over 448, so for NVFP4 max |W| / (6 * 448), and
    the E4M3 scale of a group is max |w| / 6 / tensor scale. Without E4M3 scales the tensor scale is
    the only scale, max |W| / max |level|.

    Raises TypeError or ValueError for a wrong dtype or rank, a group_size that does not divide K,
    weights that are NaN or infinite, or scales beyond the range of their dtype.
    Sources: OCP Microscaling Formats v1.0, section 6.3, for E8M0 scales; for NVFP4 NVIDIA's Model
    Optimizer, modelopt.torch.quantization, NVFP4QTensor.

    >>> from gemlite_edu.numbers.formats import FP4_E2M1
    >>> W = torch.tensor([[0.1, -0.3, 0.6, -0.04]])
    >>> q = quantize_to_format(W, FP4_E2M1)
    >>> q.codes.tolist(), f"{q.scales.item():.3f}", f"{q.error(W):.3f}"
    ([[2, 13, 7, 9]], '0.100', '0.015')
    """
    check_is_format(format)
    check_matrix_of_floats(W)
    N, K = W.shape
    groups, W = format.groups_of(K), W.detach()
    low, high, reach = _reach(W, format)
    scales, tensor_scale = choose_scales(format, reach)
    steps = steps_of(scales, tensor_scale, reach)
    zeros = choose_zeros(low, high, steps, format.nbits) if format.has_zeros else None
    codes = torch.empty((N, K), dtype=torch.uint8, device=W.device)
    for rows in row_blocks(N, K):
        weights, of_rows = _grouped(W[rows], groups), steps[rows].unsqueeze(-1)
        if zeros is None:
            nearest = nearest_levels(weights, of_rows, format.levels or ())
        else:
            of_rows = torch.where(of_rows == 0, 1.0, of_rows)
            nearest = nearest_integers(weights, of_rows, zeros[rows].unsqueeze(-1), format.nbits)
        codes[rows] = nearest.reshape(-1, K)
    zeros = None if zeros is None else zeros.float()
    return CodedWeight(format, codes, scales, zeros, tensor_scale)


def check_scales(W: torch.Tensor, format: Format) -> None:
    """Raise what `quantize_to_format` raises for this W and format, without choosing codes.

    Raises ValueError, too, if all of W is so small that its scales would be far too large.
    """
    check_is_format(format)
    check_matrix_of_floats(W)
    reach = _reach(W.detach(), format)[-1]
    scales, tensor_scale = choose_scales(format, reach)
    stored = tensor_scale if scales is None else scales
    if stored is None:
        return
    steps, needed = steps_of(scales, tensor_scale, reach), reach.max().item() / format.largest
    if needed and steps.max().item() > _MOST_EXCESS * needed:
        raise ValueError(
            f"a scale of {needed:g} is too small for {name_of(stored.dtype)}: "
            "multiply W by a constant, or choose another scale_dtype"
        )


def nearest_levels(
    weights: torch.Tensor, steps: torch.Tensor, levels: tuple[float, ...]
) -> torch.Tensor:
    """The code whose level * step is nearest to each weight, uint8, as `quantize_to_format` says.

    weights: (..., members) float64; steps: (..., 1) float64, from 0 up.
    Of the sorted levels only the two neighbours of weight / step can be nearest.
    """
    of_level, codes, ranks = _sorted_levels(levels, weights.device)
    quotients = weights / torch.where(steps == 0, 1.0, steps)
    upper = torch.bucketize(quotients, of_level).clamp(max=len(of_level) - 1)
    lower = (upper - 1).clamp(min=0)
    above = (of_level[upper] * steps - weights).abs()
    below = (of_level[lower] * steps - weights).abs()
    is_tie_for_upper = (above == below) & (ranks[upper] < ranks[lower])
    place = torch.where((above < below) | is_tie_for_upper, upper, lower)
    return codes[place]


@lru_cache(maxsize=16)
def _sorted_levels(
    levels: tuple[float, ...], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Levels in ascending order, float64; the first code of each, uint8; the rank of that code."""
    first_code: dict[float, int] = {}
    for code, level in enumerate(levels):
        first_code.setdefault(level, code)
    ordered = sorted(first_code)
    codes = [first_code[level] for level in ordered]
    ranks = [(code % 2) * len(levels) + code for code in codes]
    return (
        torch.tensor(ordered, dtype=torch.float64, device=device),
        torch.tensor(codes, dtype=torch.uint8, device=device),
        torch.tensor(ranks, device=device),
    )


def _reach(W: torch.Tensor, format: Format) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(low, high, reach) of each group, (N, groups) float64: its smallest and its largest number,
    or 0, and what its scale must cover."""
    groups = format.groups_of(W.shape[1])
    ranges = [range_with_zero(_grouped(W[rows], groups)) for rows in row_blocks(*W.shape)]
    low, high = (torch.cat(ends).squeeze(-1) for ends in zip(*ranges, strict=True))
    if not (low.isfinite() & high.isfinite()).all():
        check_finite(W)
    return low, high, high - low if format.has_zeros else torch.maximum(-low, high)


def _grouped(W: torch.Tensor, groups: int) -> torch.Tensor:
    """W (rows, K) as (rows, groups, members), float64."""
    return W.double().contiguous().reshape(len(W), groups, -1)
