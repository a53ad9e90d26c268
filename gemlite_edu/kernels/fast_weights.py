"""Weights in the layouts of the fast kernels, as their texts must know them: `FastWeights`."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.packing.sparse_1in2 import SparseTiles

FLOATS = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16", torch.float32: "float"}

_LONG_PART = 128
# Warps of a block, as many as the registers allow; a row of W with fewer steps has fewer.
_WARPS = {8: 32, 4: 32, 2: 16, 1: 16}


class Types(NamedTuple):
    """torch dtypes of x and y, and of the other tensors; any of those that are not there."""

    x: torch.dtype
    y: torch.dtype
    scales: torch.dtype = torch.float32
    zeros: torch.dtype = torch.float32
    channel_scales: torch.dtype = torch.float32
    bias: torch.dtype = torch.float32

    @property
    def defines(self):
        """What they are in CUDA; ValueError for one that no text takes."""
        for name, dtype in self._asdict().items():
            if dtype not in FLOATS:
                raise ValueError(f"{name} must be float16, bfloat16 or float32, got {dtype}")
        names = ("X_T", "Y_T", "SCALE_T", "ZERO_T", "CHANNEL_T", "BIAS_T")
        return {name: FLOATS[dtype] for name, dtype in zip(names, self, strict=True)}


@dataclass(frozen=True)
class FastWeights:
    """What the text must know of weights: width, group_size (None: all of a row), `WeightMode`.

    hole_bytes: of a block's shared memory, kept for what stands in the text's holes.
    """

    nbits: int
    group_size: int | None = None
    mode: WeightMode = WeightMode.SHIFT_SCALE
    hole_bytes: int = 0

    def __post_init__(self):
        if self.nbits not in (8, 4, 2, 1):
            raise ValueError(f"nbits must be 8, 4, 2 or 1, got {self.nbits}")
        short = [size for size in (32, 64, 128) if size < self.step]
        group = self.group_size
        if group is not None and group not in short and (group < 1 or group % self.step):
            sizes = ", ".join(map(str, short))
            raise ValueError(
                f"group_size must be {sizes} or a multiple of {self.step}, got {group}"
            )

    def layout(self, K):
        """The `PlaneTiles` of K codes in a row; ValueError unless they are whole groups."""
        return PlaneTiles(self.nbits, K, self.group_size, self.word_bits)

    @property
    def word_bits(self):
        """Of the packed words."""
        return 16 if self.nbits == 1 else 32

    @cached_property
    def step(self):
        """Codes of a row that a warp takes at once: a tile of the layout."""
        return PlaneTiles(self.nbits, K=1, word_bits=self.word_bits).tile

    @cached_property
    def part(self):
        """Of a step, with one scale."""
        return min(self.group_size or self.step, self.step)

    @cached_property
    def tile_n(self):
        """Outputs that a warp takes: of few bits those of two tiles of a tensor core."""
        return 32 if self.nbits <= 2 and self.part >= _LONG_PART else 16

    @property
    def text(self):
        """The text for them: a name of `sources`."""
        return "gemv_a16w84_fast" if self.nbits >= 4 else "gemv_a16w21_fast"

    @property
    def warps(self):
        """Warps of a block, limited by registers; a launch takes fewer when K is short."""
        return _WARPS[self.nbits]

    @property
    def defines(self):
        """What the text is compiled with, besides what depends on x, y and the machine."""
        return {"W_NBITS": self.nbits, "MODE": self.mode.name, "TILES": self.tile_n // 16}

    def bytes_of_a_part(self, x_dtype):
        """Of the text's XPart."""
        return 8 if x_dtype == torch.float16 else 16


@dataclass(frozen=True)
class SparseWeights:
    """Like `FastWeights`, for 1:2 sparse ones of 7 bits; group_size: 64, 128, or whole tiles."""

    group_size: int | None = None

    nbits = 4  # a byte for two weights
    hole_bytes = 0
    step = SparseTiles.tile
    tile_n = 16
    text = "gemv_a16w7_sparse_fast"
    warps = 16
    defines = {}

    def __post_init__(self):
        group = self.group_size
        if group is not None and group not in (64, 128) and group % self.step:
            raise ValueError(f"group_size must be 64, 128 or a multiple of 256, got {group}")

    def layout(self, K):
        """The `SparseTiles` of K weights in a row; ValueError unless they are whole groups."""
        return SparseTiles(K, self.group_size)

    @property
    def part(self):
        """Of a step, with one scale."""
        return min(self.group_size or self.step, self.step)

    def bytes_of_a_part(self, x_dtype):
        """Of the text's XPart."""
        return 4
