"""Weights as the kernels read them, and the limits on their scales and zeros."""

from dataclasses import dataclass, field
from typing import Literal

import torch

from gemlite_edu.numbers.quantize import QuantizedWeight, check_is_quantized
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles, best_layout, pack_with_high

_EXACT_IN_FLOAT32, _EXACT_IN_FLOAT16, _LARGEST_INT8 = 2**24, 2**11, 128


@dataclass(frozen=True)
class PackedWeight:
    """Weights in the layout of the kernels, with the tensors that turn codes into numbers.

    words: `layout.shape(N)`; high: the third bits of 3-bit codes.
    scales, zeros: (layout.padded_groups, N), as `mode` takes them.
    channel_scales: (N,), by which whole sums over K are multiplied.
    N: rows of W, columns of y. tensors: what a kernel reads, in the order of its arguments.
    meta: what a kernel must know of the weight when it is compiled.
    """

    words: torch.Tensor
    layout: PlaneTiles | PlainTiles
    mode: WeightMode = WeightMode.NONE
    scales: torch.Tensor | None = None
    zeros: torch.Tensor | None = None
    channel_scales: torch.Tensor | None = None
    high: torch.Tensor | None = None
    N: int = field(init=False, repr=False, compare=False)
    tensors: tuple = field(init=False, repr=False, compare=False)
    meta: dict = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        layout = self.layout
        meta = {
            "NBITS": layout.nbits,
            "FIELDS": layout.fields,
            "DEPTH": layout.depth,
            "GROUP": layout.padded_group if layout.group_size else None,
            "FMA": self.mode == WeightMode.FMA,
        }
        tensors = self.words, self.high, self.scales, self.zeros
        for name, value in {"N": self.words.shape[1], "tensors": tensors, "meta": meta}.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def from_quantized(
        q: QuantizedWeight, word_bits: Literal[8, 16, 32] | None = None
    ) -> "PackedWeight":
        """Pack a `QuantizedWeight` of 8, 4, 3, 2 or 1 bits, whose weights are (q - z) s.

        word_bits: width of the packed words, 32, 16 or 8; None: the width that pads least.

        >>> from gemlite_edu import quantize_linear
        >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(2, 32), 4))
        >>> weight.layout.tile, tuple(weight.words.shape)
        (32, (1, 2, 16))
        """
        check_is_quantized(q)
        N, K = q.W_q.shape
        group_size = None if q.group_size == K else q.group_size
        if word_bits is None:
            layout = best_layout(q.nbits, K, group_size)
        else:
            layout = PlaneTiles(q.nbits, K, group_size, word_bits)
        scales, zeros = (
            layout.pad_groups(tensor.expand(N, K // q.group_size).T)
            for tensor in (q.scales, q.zeros)
        )
        words, high = pack_with_high(q.W_q, layout)
        return PackedWeight(words, layout, WeightMode.SHIFT_SCALE, scales, zeros, high=high)


def fits_16_bits(
    scales: torch.Tensor | None, zeros: torch.Tensor | None, nbits: int, dtype: torch.dtype
) -> bool:
    """True if dense weights of the 16-bit `dtype` are finite and close to the exact weights.

    Rounding a weight costs half of the dtype's eps, relative to the weight. That may be at most 1/8
    of a step between codes; quantization itself cost up to 1/2. A step must be a normal number of
    the dtype, so that it keeps all its digits. With 8 bits, where weights are many steps, a step
    may be as small as 1/16 of the smallest normal number if the dtype represents it exactly.
    """
    if dtype not in (torch.float16, torch.bfloat16):
        return False
    limits, steps = torch.finfo(dtype), torch.ones(1) if scales is None else scales.float().abs()
    steps = steps[steps > 0]
    if not steps.numel() or not torch.isfinite(steps).all():
        return False
    is_whole = (steps >= limits.tiny) | (steps == steps.to(dtype))
    smallest = limits.tiny * min(1, 16 / 2**nbits)
    zeros = torch.zeros(1) if zeros is None else zeros.float()
    reach = max(2**nbits - 1 - zeros.min().item(), zeros.max().item())  # largest |code - zero|
    return bool(
        steps.max().item() * reach < limits.max
        and reach * limits.eps / 2 <= 1 / 8
        and steps.min().item() >= smallest
        and is_whole.all().item()
    )


def levels_fit_16_bits(
    steps: torch.Tensor | None, levels: torch.Tensor, dtype: torch.dtype
) -> bool:
    """True if rounding each weight, levels[code] * step, to the 16-bit `dtype` costs little.

    levels: a float32 tensor. All weights of a group must be finite. Those other than 0 must be
    normal numbers, which keep all their digits; or the largest must be so far above the smallest
    normal number that weights a thousand times smaller still are normal.
    """
    if dtype not in (torch.float16, torch.bfloat16):
        return False
    limits, sizes = torch.finfo(dtype), levels.abs()
    steps = levels.new_ones(1) if steps is None else steps.float().abs()
    steps = steps[steps > 0]
    largest = steps * sizes.max()
    smallest = steps * sizes[sizes > 0].min() if largest.any() else largest
    is_normal = (smallest >= limits.tiny) | (largest >= 1024 * limits.tiny)
    return bool((largest < limits.max).all() and is_normal.all())


def check_zeros_of_int8(zeros: torch.Tensor, layout: PlaneTiles) -> None:
    """Raise unless float32 adds the products of int8 x over two tiles exactly."""
    top = 2**layout.nbits - 1
    largest = min(_EXACT_IN_FLOAT32 // (2 * layout.tile * _LARGEST_INT8), _EXACT_IN_FLOAT16)
    zeros = zeros.float()
    low, high = zeros.min().item(), zeros.max().item()
    is_whole = torch.equal(zeros, zeros.round())
    if not is_whole or not (top - largest <= low and high <= largest):
        raise ValueError(
            f"INT8 x takes whole zeros from {top - largest} to {largest} with {layout.nbits}-bit "
            f"codes, got {low:g} to {high:g}: round them, or use FP16 x"
        )


def check_sums_of_int8(K: int, top: float, zeros: torch.Tensor | None) -> None:
    """Raise if a sum of int8 x times (code - zero), with codes up to `top`, may overflow int32."""
    low, high = (0, 0) if zeros is None else (zeros.min().item(), zeros.max().item())
    longest = (2**31 - 1) // int(_LARGEST_INT8 * max(top - low, high, 1))
    if K > longest:
        raise ValueError(
            f"sums over in_features = {K} may leave int32: split it, up to {longest} in a layer"
        )
