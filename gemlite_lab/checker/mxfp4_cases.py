"""Weights for the exercise mxfp4_encode, and what MXFP4 makes of them.

The right output is computed without a logarithm, frexp or rounding: powers of two are compared with
the largest |w| of a group, and w with every level.
"""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_lab.checker.alike_inputs import alike_inputs
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.laid_otherwise import laid_in_every_way, middle_rolled
from gemlite_lab.checker.usual_sizes import usual_sizes
from gemlite_lab.lesson.real_layer import real_layer

PARTS = ("exponents", "codes")  # in the order in which they are judged
GROUP = 32
LEVELS = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)
MIDDLES = (LEVELS[1:] + LEVELS[:-1]) / 2
SMALLEST_EXPONENT = -127
_SMALLEST_POWER = -149  # of float32
_POWERS = 2.0 ** torch.arange(_SMALLEST_POWER, 129, dtype=torch.float64)
_EVEN_CODES_FIRST = torch.tensor([0, 2, 4, 6, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15])
_LITTLE = torch.tensor([1, 1, 2, 2, 2, 2, 4]) / 128  # bfloat16 has MIDDLES +- this
_UNITS = torch.cat([LEVELS, MIDDLES, MIDDLES - _LITTLE, MIDDLES + _LITTLE]).float()
_REACHES = torch.tensor([4.0, 4.0, 4.125, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 7.96875])
_FRACTIONS = torch.cat([torch.tensor([1, -1 / 2, 3 / 8, -1 / 4, 1 / 8, -1 / 16]), torch.zeros(26)])
_TINY = -120
_MANY_COLUMNS = 6000
_DTYPES = torch.float16, torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Weights:
    """w (N, K), and the part of its encoding that is judged."""

    label: str
    part: str
    w: torch.Tensor


def groups_of(w):
    """w (N, K) as (N, K / 32, 32)."""
    return w.unflatten(1, (-1, GROUP))


def encoding_of(w):
    """(exponents (N, K / 32), codes (N, K)) of weights w (N, K) in MXFP4, int64."""
    groups = groups_of(w.double())
    powers_below = torch.searchsorted(_POWERS, groups.abs().amax(2), right=True)
    exponents = (powers_below - 1 + _SMALLEST_POWER - 2).clamp(min=SMALLEST_EXPONENT)
    units = groups / 2.0 ** exponents.double()[:, :, None]
    levels = torch.cat([LEVELS, -LEVELS])[_EVEN_CODES_FIRST]
    nearest = (units[..., None] - levels).abs().argmin(3)  # the first of equally near ones
    return exponents, _EVEN_CODES_FIRST[nearest].flatten(1)


def _drawn(dtype, N, K, exponents, seed):
    """Levels, ties and their neighbours in groups of these exponents; None is a group of zeros."""
    generator = torch.Generator().manual_seed(seed)
    groups = N, K // GROUP
    units = _UNITS[torch.randint(0, len(_UNITS), (*groups, GROUP), generator=generator)]
    reach = _REACHES[(torch.arange(N * groups[1]) + seed) % len(_REACHES)].view(*groups, 1)
    units = torch.minimum(units, reach)
    units.scatter_(2, torch.randint(0, GROUP, (*groups, 1), generator=generator), reach)
    units *= torch.randint(0, 2, units.shape, generator=generator) * 2 - 1
    units[:, 2::5] = -units[:, 2::5].abs()
    scales = torch.tensor([0.0 if e is None else 2.0**e for e in exponents])
    scales = scales[torch.randint(0, len(scales), (*groups, 1), generator=generator)]
    w = (units * scales).to(dtype)
    assert torch.equal(w.float(), units * scales)
    return _both(f"N = {N}, K = {K}, {_name(dtype)}", w.flatten(1))


def _next_to_ties(dtype):
    """Each tie and its two neighbours of this dtype, with either sign, in groups of four scales."""
    middles = MIDDLES.to(dtype)
    ends = torch.zeros_like(middles), torch.full_like(middles, torch.inf)
    units = torch.cat([middles, *(torch.nextafter(middles, end) for end in ends)])
    units = torch.cat([units, -units, torch.tensor([6.0, -7.5], dtype=dtype).repeat(11)])
    units = torch.stack([units, units.roll(11), units.flip(0), units.roll(40)])
    scales = 2.0 ** torch.tensor([[0], [-3], [2], [-6]])
    return _both(f"w in ties and next to them, {_name(dtype)}", units * scales.to(dtype))


def _next_to_powers(dtype, lowest, highest):
    """Groups with the largest |w| 2**k, the next number, and the last one before 2**(k + 1)."""
    powers = 2.0 ** torch.arange(lowest, highest + 1, dtype=torch.float64)
    epsilon = torch.finfo(dtype).eps
    reaches = torch.stack([powers, powers * (1 + epsilon), powers * (2 - epsilon)], 1).to(dtype)
    turned = [_FRACTIONS.roll(5 * turn) * (-1) ** turn for turn in range(3)]
    w = torch.stack([reach * torch.stack(turned) for reach in reaches.double()[:, :, None]])
    label = f"largest |w| next to powers of two from 2**{lowest}, {_name(dtype)}"
    return _both(label, w.to(dtype).flatten(1))


def _everywhere():
    """Largest |w| next to powers of two, in groups of many columns, and zeros in many rows."""
    found, _ = _next_to_powers(torch.float32, -8, 8)
    wide = found.w[::4].repeat(1, _MANY_COLUMNS // found.w.shape[1])
    label = f"N = {len(wide)}, K = {wide.shape[1]}, float32, largest |w| next to powers of two"
    return [*_both(label, wide), *_drawn(torch.float32, 130, 64, (-5, None, 1), seed=12)]


def _alike():
    """Weights, then the same with rows, whole groups, or all columns in another order."""
    case, _ = _drawn(torch.float32, 6, 192, (-2, 1, 3, -7), seed=14)
    groups = torch.arange(192).view(6, GROUP)[middle_rolled(6)].flatten()
    orders = {"": case.w, ", rows swapped": case.w[middle_rolled(6)]}
    orders |= {", groups swapped": case.w[:, groups]}
    orders |= {", columns swapped": case.w[:, middle_rolled(192)]}
    label = case.label.removeprefix("exponents of ")
    found = (_both(f"{label}, in orders{how}", w.contiguous()) for how, w in orders.items())
    return [case for both in found for case in both]


def _laid_otherwise():
    """Cases whose w, of each dtype, is a part or a transpose of another tensor."""
    of_dtypes = [_drawn(dtype, 24, 64, (-2, 1, 3), seed=15) for dtype in reversed(_DTYPES)]
    return laid_in_every_way(of_dtypes, "w")


def _one_weight():
    """Groups with one weight that is not 0, and -0 in the others."""
    w = torch.full((4, 64), -0.0)
    w[[0, 1, 2, 3], [0, 31, 32, 63]] = torch.tensor([1.0, -0.375, 3.0e-5, -7.0e8])
    return _both("N = 4, K = 64, a single weight in each row", w)


def _real(name, rows, dtype):
    w = real_layer(name).weight[:rows].to(dtype)
    return _both(f"{rows} rows of {name}, {_name(dtype)}", w)


def _both(label, w):
    return [Weights(f"{part} of {label}", part, w) for part in PARTS]


def _name(dtype):
    return str(dtype).removeprefix("torch.")


@cache
def cases():
    return [
        *_drawn(torch.float32, 4, 96, (-3, 2, -6, -1), seed=8),
        *_drawn(torch.float16, 5, 160, (-7, -4, 1, 3), seed=2),
        *_drawn(torch.bfloat16, 4, 96, (20, -31, -9), seed=3),
        *_next_to_ties(torch.float32),
        *_next_to_ties(torch.float16),
        *_next_to_powers(torch.float32, -8, 8),
        *_next_to_powers(torch.float16, -24, 15),
        *_next_to_powers(torch.bfloat16, _TINY, 127),
        *_next_to_powers(torch.float32, _TINY, 127),
        *_drawn(torch.float32, 6, 128, (-5, None, 1), seed=4),
        *_one_weight(),
        *_next_to_powers(torch.float32, _SMALLEST_POWER, _TINY),
        *_next_to_powers(torch.bfloat16, -133, _TINY),
        *_real("ffn_up", 64, torch.float16),
        *_real("ffn_down", 24, torch.bfloat16),
        *_drawn(torch.float32, 32, 32, (-1, 0, 4), seed=5),
        *_drawn(torch.float16, 64, 64, (-6, -5), seed=6),
        *_drawn(torch.float32, 1, 32, (3,), seed=7),
        *_drawn(torch.bfloat16, 1, 32, (None,), seed=8),
        *_drawn(torch.float16, 2, 64, (None,), seed=9),
        *_both("N = 3, K = 96, all w alike", torch.full((3, 96), -0.3)),
        *_drawn(torch.float32, 1, 90016, (-1, -4, 2), seed=10),
        *_drawn(torch.float16, 1201, 32, (-7, -3), seed=11),
        *_everywhere(),
        *_alike(),
        *_laid_otherwise(),
    ]


def fresh(seed):
    """Cases with other weights for each seed, of all usual sizes."""
    generator = torch.Generator().manual_seed(seed)
    N, G = torch.randint(1, 30, (2,), generator=generator).tolist()
    found = _drawn(_DTYPES[seed % 3], N, G * GROUP, (-8, 2, None, -1, 5), seed)
    for N, K in usual_sizes(seed):
        dtype = _DTYPES[int(torch.randint(0, 3, (), generator=generator))]
        drawn = _drawn(dtype, N, max(K // GROUP, 1) * GROUP, (-5, 0, 3, -2), seed)
        found.append(drawn[seed % 2])
    alike = _drawn(torch.float32, 12, 192, (seed % 9,), seed)[1]
    alike = replace(alike, w=alike.w + 0.0)  # without -0
    found += with_exchanges(alike, "w", seed) + alike_inputs(alike, "w")
    return [replace(case, label=f"{case.label}, seed {seed}") for case in found]
