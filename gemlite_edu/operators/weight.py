"""Weights as the kernels read them, and what their scales and zeros must be."""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plane_tiles import PlainTiles, PlaneTiles, best_layout, pack_with_high

_EXACT_IN_FLOAT32, _EXACT_IN_FLOAT16, _LARGEST_INT8 = 2**24, 2**11, 128


@dataclass(frozen=True)
class PackedWeight:
    """Weights in the layout of the kernels, with what makes numbers of them.

    words: `layout.shape(N)`; high: the third bits of 3-bit codes.
    scales, zeros: (layout.padded_groups, N), as `mode` takes them.
    channel_scales: (N,), by which whole sums over K are multiplied.
    """

    words: torch.Tensor
    layout: PlaneTiles | PlainTiles
    mode: WeightMode = WeightMode.NONE
    scales: torch.Tensor | None = None
    zeros: torch.Tensor | None = None
    channel_scales: torch.Tensor | None = None
    high: torch.Tensor | None = None

    @staticmethod
    def from_quantized(q, word_bits=None):
        """The weight for a `QuantizedWeight` of 8, 4, 3, 2 or 1 bits, as (q - z) s.

        word_bits: 32, 16 or 8 bits of codes in a word; None: whatever pads least.

        >>> from gemlite_edu import quantize_linear
        >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(2, 32), 4))
        >>> weight.layout.tile, tuple(weight.words.shape)
        (32, (1, 2, 16))
        """
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

    @property
    def N(self):
        """Rows of W, columns of y."""
        return self.words.shape[1]

    @property
    def tensors(self):
        """What a kernel reads of it, in the order of its arguments."""
        return self.words, self.high, self.scales, self.zeros

    @property
    def meta(self):
        """What a kernel must know of it when it is compiled."""
        return {
            "NBITS": self.layout.nbits,
            "FIELDS": self.layout.fields,
            "DEPTH": self.layout.depth,
            "GROUP": self.layout.padded_group if self.layout.group_size else None,
            "FMA": self.mode == WeightMode.FMA,
        }


def fits_16_bits(scales, zeros, nbits, dtype):
    """True if dense weights of 16-bit `dtype` are finite, and near to what codes say.

    Rounding costs a weight half of the type's eps: 1/8 of a step between codes is allowed, where
    quantizing it cost up to 1/2. A step is to be a normal number of the type, which has all digits;
    with 8 bits, where weights have more steps, down to 1/16 of those if the type holds it exactly.
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
    reach = max(2**nbits - 1 - zeros.min().item(), zeros.max().item())  # of codes from their zero
    return (
        steps.max().item() * reach < limits.max
        and reach * limits.eps / 2 <= 1 / 8
        and steps.min().item() >= smallest
        and is_whole.all().item()
    )


def check_zeros_of_int8(zeros, layout):
    """Raise unless the products of int8 x, of two tiles, are added up exactly in float32."""
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


def check_sums_of_int8(K, top, zeros):
    """Raise if sums of int8 x times codes of at most `top`, less zeros, may leave int32."""
    low, high = (0, 0) if zeros is None else (zeros.min().item(), zeros.max().item())
    longest = (2**31 - 1) // int(_LARGEST_INT8 * max(top - low, high, 1))
    if K > longest:
        raise ValueError(
            f"sums over in_features = {K} may leave int32: split it, up to {longest} in a layer"
        )
