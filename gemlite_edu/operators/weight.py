"""Weights as the Triton kernels read them."""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plane_tiles import PlainTiles, PlaneTiles, best_layout, pack_with_high


@dataclass(frozen=True)
class PackedWeight:
    """Weights in the layout of the Triton kernels, with what makes numbers of them.

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
