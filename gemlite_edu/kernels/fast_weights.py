"""`FastWeights`: what the source of a fast kernel must know about its packed weights."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import torch

from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.piece_tiles import PieceTiles, pack_piece_tiles
from gemlite_edu.packing.plane_tiles import PlaneTiles, pack_plane_tiles
from gemlite_edu.packing.sparse_1in2 import SparseTiles

FLOATS = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16", torch.float32: "float"}

_SHORT_PART = 32

# Registers set the limits.
_WARPS_OF_ONE_TILE = {8: 32, 7: 16, 6: 24, 5: 16, 4: 32, 3: 24, 2: 16, 1: 16}
_WARPS_OF_MORE_TILES = 16
_MORE_WARPS_OF_LONG_PARTS = (3, 6)
_ONE_TILE_ONLY = (5, 7)


class Types(NamedTuple):
    """The torch dtypes of x, y and the other tensors; an absent tensor may have any of them."""

    x: torch.dtype
    y: torch.dtype
    scales: torch.dtype = torch.float32
    zeros: torch.dtype = torch.float32
    channel_scales: torch.dtype = torch.float32
    bias: torch.dtype = torch.float32

    @property
    def defines(self):
        """{macro: CUDA type}; ValueError for a dtype that no kernel supports."""
        for name, dtype in self._asdict().items():
            if dtype not in FLOATS:
                raise ValueError(f"{name} must be float16, bfloat16 or float32, got {dtype}")
        names = ("X_T", "Y_T", "SCALE_T", "ZERO_T", "CHANNEL_T", "BIAS_T")
        return {name: FLOATS[dtype] for name, dtype in zip(names, self, strict=True)}


@dataclass(frozen=True)
class FastWeights:
    """Width, group_size (None: the whole row) and `WeightMode` of weights in a fast kernel's words.

    Codes of 8, 4, 2 or 1 bits lie in `PlaneTiles`, others in `PieceTiles`.
    hole_bytes: bytes of a block's shared memory that are reserved for the text in a hole.
    has_one_offset: the codes of all fields have the same offset, so that a sum of x is enough.
    """

    nbits: int
    group_size: int | None = None
    mode: WeightMode = WeightMode.SHIFT_SCALE
    hole_bytes: int = 0
    has_one_offset: bool = False

    def __post_init__(self):
        if self.nbits not in range(1, 9):
            raise ValueError(f"nbits must be from 1 to 8, got {self.nbits}")
        short = [size for size in (16, 32, 64, 128) if size < self.step]
        group = self.group_size
        if group is not None and group not in short and (group < 1 or group % self.step):
            sizes = ", ".join(map(str, short))
            raise ValueError(
                f"group_size must be {sizes} or a multiple of {self.step}, got {group}"
            )

    def layout(self, K):
        """The layout of rows of K codes; ValueError if group_size does not divide K."""
        return _layout(self.nbits, K, self.group_size)

    def pack(self, W_q):
        """The words of codes (N, K) uint8."""
        layout = self.layout(W_q.shape[1])
        is_whole = isinstance(layout, PlaneTiles)
        return (pack_plane_tiles if is_whole else pack_piece_tiles)(W_q, layout)

    @cached_property
    def step(self):
        """Codes of a row that a warp processes at once: one tile of the layout."""
        return _layout(self.nbits, K=1).tile

    @cached_property
    def part(self):
        """Codes of a step that share a scale."""
        return min(self.group_size or self.step, self.step)

    def most_tiles(self, rows):
        """Tensor-core tiles of 16 outputs for which a warp has registers, for rows of x: 1 to 3."""
        is_arithmetic_of_6_bits = self.nbits == 6 and not self.hole_bytes
        if self.nbits in _ONE_TILE_ONLY or is_arithmetic_of_6_bits or (self.nbits, rows) == (3, 8):
            return 1
        if self._has_registers_for_three(rows):
            return 3
        most_parts = 2 if self.nbits == 3 or rows == 8 else 4
        return 2 if self.part >= _SHORT_PART and self.step <= most_parts * self.part else 1

    def _has_registers_for_three(self, rows):
        has_one_part = self.step == self.part
        is_narrow_table = self.nbits <= 2 and self.hole_bytes
        is_of_whole_words = self.nbits in (8, 4, 2, 1) and not is_narrow_table
        most_rows = 8 if self.nbits == 8 and has_one_part else 4
        return is_of_whole_words and self.step <= 2 * self.part and rows <= most_rows

    @property
    def text(self):
        """The name, in `sources`, of the CUDA text for these weights."""
        return "gemv_a16w3to8_fast" if self.nbits >= 3 else "gemv_a16w1to2_fast"

    def warps(self, tiles):
        """Warps per block if each computes so many tiles; a launch uses fewer when K is short."""
        if tiles > 1:
            return _WARPS_OF_MORE_TILES
        has_many_scales = self.part < _SHORT_PART and self.nbits < 8
        in_16_warps = self.nbits in _MORE_WARPS_OF_LONG_PARTS and self.step > 2 * self.part
        most = 16 if in_16_warps else _WARPS_OF_ONE_TILE[self.nbits]
        return most // 2 if has_many_scales else most

    @property
    def defines(self):
        """{macro: value} for the weights; x, y and the machine add macros of their own."""
        one_offset = int(self.has_one_offset)
        return {"W_NBITS": self.nbits, "MODE": self.mode.name, "ONE_OFFSET": one_offset}

    def bytes_of_a_part(self, x_dtype):
        """Size of the text's XPart."""
        of_halves = 4 if self.has_one_offset else 8
        return of_halves if x_dtype == torch.float16 else 16


def _layout(nbits, K, group_size=None):
    if nbits in (8, 4, 2, 1):
        return PlaneTiles(nbits, K, group_size, word_bits=16 if nbits == 1 else 32)
    return PieceTiles(nbits, K, group_size)


@dataclass(frozen=True)
class SparseWeights:
    """Like `FastWeights`, for 7-bit 1:2 sparse weights; group_size: 64, 128, or whole tiles."""

    group_size: int | None = None

    nbits = 4  # a byte holds two weights
    hole_bytes = 0
    step = SparseTiles.tile
    text = "gemv_a16w7_sparse_fast"
    defines: ClassVar[dict[str, object]] = {}

    def __post_init__(self):
        group = self.group_size
        if group is not None and group not in (64, 128) and group % self.step:
            raise ValueError(f"group_size must be 64, 128 or a multiple of 256, got {group}")

    def layout(self, K):
        """The `SparseTiles` for rows of K weights; ValueError if group_size does not divide K."""
        return SparseTiles(K, self.group_size)

    def most_tiles(self, _rows):
        """Tensor-core tiles of 16 outputs that a warp computes at once."""
        return 1

    def warps(self, _tiles):
        """Warps per block; a launch uses fewer when K is short."""
        return 16

    @property
    def part(self):
        """Weights of a step that share a scale."""
        return min(self.group_size or self.step, self.step)

    def bytes_of_a_part(self, x_dtype):
        """Size of the text's XPart."""
        return 4
