"""How the GEMV at the memory limit is cut: one block for each multiprocessor."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch

from gemlite_edu.kernels.gemv import Launch, rows_in_one_pass
from gemlite_edu.kernels.machine import shared_bytes_per_block
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.packing.sparse_1in2 import SparseTiles

HOLE_BYTES = 32 * 1024  # of shared memory: what a text in the hole prepare_pairs may take
OLDEST_CAPABILITY = (7, 5)  # Turing: the first whose tensor cores take the pieces that it gives
X_TILE = 8  # of x: what a lane copies at once
WHOLE_ROW = 0x7FFFFFFF  # GROUP_SIZE of one scale per output
FLOATS = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16", torch.float32: "float"}

_WARP_SIZE = 32
_LONG_PART = 128
_MOST_CODES = 2**35  # the text counts vectors of words in 32 bits
# Of a block: as many as find registers; fewer where a row of W has fewer steps.
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
        """Of a block, if K has steps for all: as have registers."""
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


class FastGemv:
    """gemv_a16wn_fast: a block for each multiprocessor, which takes several tiles of outputs."""

    entry = "gemv"
    x_dtypes = (torch.float16, torch.bfloat16)
    takes_nbits = is_packed = True
    texts = ("gemv_a16w21_fast", "gemv_a16w84_fast")  # names of `sources`
    on_older_gpus = "gemv_a16wn_fp32"

    def weights(self, nbits, group_size):
        """The `FastWeights` that `load` is given."""
        return FastWeights(nbits, group_size)

    @staticmethod
    @lru_cache(maxsize=1024)
    def plan(M, N, K, types, weights, capability, multiprocessors):
        """The `Launch` for y (M, N), K a multiple of X_TILE; ValueError where it is too large.

        Where rows of x do not fit into a block, they take turns: grid[1] passes over the weights.
        """
        if N * (K + -K % weights.step) > _MOST_CODES:
            raise ValueError(f"W of {N} x {K} codes is too large for a launch: split it by rows")
        limit = shared_bytes_per_block(capability) - weights.hole_bytes
        rows = rows_in_one_pass(M)
        while rows:
            need = _Need.of(K, rows, types.x, weights)
            most_tiles = (limit - need.x_bytes) // need.bytes_of_a_tile
            turns = -(-N // (weights.tile_n * multiprocessors * max(most_tiles, 1)))
            # x comes to a block once a turn: that is to be little beside the codes of the turn.
            is_little = turns == 1 or rows == 1 or 2 * rows <= most_tiles * weights.nbits
            if most_tiles >= 1 and is_little:
                return need.launch((M, N, K), types, weights, multiprocessors * turns)
            rows //= 2
        raise ValueError(
            f"x of K = {K} takes {need.x_bytes + need.bytes_of_a_tile} bytes of shared memory, and "
            f"a block of compute capability {capability[0]}.{capability[1]} has {limit} for it: "
            "split K over calls"
        )


class SparseFastGemv(FastGemv):
    """gemv_a16w7_sparse_fast, likewise."""

    takes_nbits = False
    texts = (SparseWeights.text,)
    on_older_gpus = "gemv_a16w7_sparse"

    def weights(self, nbits, group_size):
        """The `SparseWeights` that `load` is given; nbits: None."""
        return SparseWeights(group_size)


class _Need(NamedTuple):
    """What a block needs: bytes of shared memory for x, and for the sums of each of its tiles."""

    rows: int
    warps: int
    x_bytes: int
    bytes_of_a_tile: int

    @classmethod
    def of(cls, K, rows, x_dtype, weights):
        steps = -(-K // weights.step)
        padded_K = steps * weights.step
        warps, parts = min(weights.warps, steps), padded_K // weights.part
        x_bytes = rows * (2 * padded_K + weights.bytes_of_a_part(x_dtype) * parts)
        return cls(rows, warps, x_bytes, rows * warps * weights.tile_n * 4)

    def launch(self, shape, types, weights, most_blocks):
        """The `Launch` in at most so many blocks."""
        M, N, _ = shape
        tiles = -(-N // weights.tile_n)
        blocks = min(most_blocks, tiles)
        defines = weights.defines | {
            "GROUP_SIZE": weights.group_size or WHOLE_ROW,
            "WARPS": self.warps,
            "ROWS": self.rows,
            **types.defines,
        }
        shared = self.x_bytes + -(-tiles // blocks) * self.bytes_of_a_tile
        grid, threads = (blocks, -(-M // self.rows)), self.warps * _WARP_SIZE
        return Launch(defines, grid, threads, shared, shape)


FAST_KERNELS = {"gemv_a16wn_fast": FastGemv(), "gemv_a16w7_sparse_fast": SparseFastGemv()}
