"""Low-bit GEMVs for the Triton kernels, with words, tiles, chunks and groups that end apart.

They are like `grouped_cases`, with the further sizes that decide a kernel's path. They have few
rows of x, because each row is its own program; so y is float32, which is exact for longer sums.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.weight import PackedWeight
from gemlite_lab.checker.grouped_cases import GroupedCase, exact_grouped, real_grouped, with_rows

BLOCK_N = 32
_MAX_QUANTA = 2**24  # float32 sums are exact up to this


@dataclass(frozen=True)
class TiledCase(GroupedCase):
    """A `GroupedCase` in words of word_bits, with K split into chunks.

    is_fma: the kernel gets -z s in place of z. is_atomic: the chunks are added by atomics.
    """

    word_bits: int
    chunks: int
    is_fma: bool
    is_atomic: bool = False

    @property
    def weight(self):
        """The `PackedWeight`."""
        q = QuantizedWeight(self.W_q, self.scales, self.zeros, self.nbits, self.group_size)
        weight = PackedWeight.from_quantized(q, self.word_bits)
        if not self.is_fma:
            return weight
        return replace(weight, mode=WeightMode.FMA, zeros=-weight.zeros * weight.scales)

    @property
    def layout(self):
        """The `PlaneTiles`."""
        return self.weight.layout

    @property
    def config(self):
        """The kernel's config: rows of W per program, and chunks of K."""
        return {
            "BLOCK_M": 16, "BLOCK_N": BLOCK_N, "chunks": self.chunks,
            "num_warps": 1, "num_stages": 1,
        }  # fmt: skip


def exact_tiled(nbits, word_bits, group_size, N, K, chunks=1, M=1, is_fma=False, seed=None):
    """A `TiledCase` with exact inputs; group_size None: one group, K.

    seed: by default each width and K has its own.
    """
    seed = nbits + K if seed is None else seed
    grouped = exact_grouped(nbits, group_size or K, N, K, seed, _MAX_QUANTA)
    return _tiled(with_rows(grouped, M), word_bits, chunks, is_fma)


def added_atomically(case):
    """The case with chunks that are added by atomics, not in a second pass."""
    return replace(case, label=f"{case.label}, ATOMIC", is_atomic=True)


def with_more_rows(case, times):
    """The case with `times` as many rows of x, no two of them alike."""
    x = torch.cat([case.x * (2 * time + 1) for time in range(times)])
    label = case.label.replace(f"M = {len(case.x)}", f"M = {len(x)}")
    return replace(case, label=label, x=x)


def wide_tiled(*size, **how):
    """Like `exact_tiled`, with x of 11 bits at all k: sums are exact in float32, not in fp16."""
    case = exact_tiled(*size, **how)
    sizes = torch.randint(1, 2**11, case.x.shape, generator=torch.Generator().manual_seed(0))
    x = (sizes * (1 - 2 * (sizes % 3 % 2))).half()
    case = replace(case, label=f"{case.label}, x of 11 bits", x=x)
    terms = (case.W_q.double() + case.zero_of_k) * case.scale_of_k
    quanta = reference.matmul(case.x.abs(), terms) / case.scales.amin(1)
    assert quanta.max() < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"
    return case


def real_tiled(word_bits, chunks, N=40, tokens=1):
    """A `TiledCase` of N outputs of a real layer with its real activations."""
    return _tiled(real_grouped(N=N, tokens=tokens), word_bits, chunks, False)


def _tiled(grouped, word_bits, chunks, is_fma):
    case = TiledCase(**vars(grouped), word_bits=word_bits, chunks=chunks, is_fma=is_fma)
    tiles = case.layout.padded_K // case.layout.tile
    label = f"{case.label}, {tiles} tiles of {case.layout.tile}, chunks: {chunks}"
    return replace(case, label=label + ", FMA" * is_fma)
