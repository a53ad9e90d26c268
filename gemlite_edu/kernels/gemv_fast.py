"""GEMVs at the memory limit: each multiprocessor runs one block, which takes several tiles of W."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import torch

from gemlite_edu.kernels.fast_weights import FastWeights, SparseWeights, Types
from gemlite_edu.kernels.machine import TURING
from gemlite_edu.kernels.pair_table import known_of
from gemlite_edu.kernels.plan import (
    WARP_SIZE,
    WHOLE_ROW,
    Launch,
    Plan,
    check_sizes,
    rows_in_one_pass,
)
from gemlite_edu.kernels.spec import Spec
from gemlite_edu.numbers.checks import aligned, check_matrix, check_no_grad, per_group, whole_tiles
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.sparse_1in2 import pack_sparse_1in2

X_TILE = 8  # elements of x that a lane copies at once

_MOST_CODES = 2**35  # the text counts vectors of words in 32 bits
# Of W: an H200 took up to 17% less time for these sizes with an early start, and more for others.
_LEAST_EARLY_BYTES, _MOST_EARLY_BYTES = 2**21, 2**26
_MOST_LOST = 0.01  # largest relative error of a scale that is subnormal in float16


@dataclass(frozen=True, kw_only=True)
class FastGemv(Spec):
    """gemv_a16wn_fast: a GEMV that feeds codes of 1 to 8 bits to the tensor cores.

    hole_bytes: shared memory that a text in a hole may use. has_one_offset: see `FastWeights`.
    """

    name: str = "gemv_a16wn_fast"
    hole_bytes: int = 0
    has_one_offset: bool = False

    texts: ClassVar[tuple[str, ...]] = (
        "gemv_a16w1to2_fast",
        "gemv_a16w3to8_fast",
    )  # names of `sources`
    on_older_gpus = "gemv_a16wn_fp32"

    @cached_property
    def weights(self):
        """The `FastWeights`; ValueError for an unsupported width or group size."""
        of_texts = dict(hole_bytes=self.hole_bytes, has_one_offset=self.has_one_offset)
        return FastWeights(self.nbits, self.group_size, **of_texts)

    @property
    def text(self):
        """The name of the kernel's CUDA text in `sources`."""
        return self.weights.text

    def completed(self, *args, **options):
        """This spec with the arguments of `load`; TypeError or ValueError for unsupported ones."""
        spec = super().completed(*args, **options)
        spec.weights  # noqa: B018  raises for an unsupported width or group size
        return spec

    def with_texts(self, texts):
        """This spec, with what its `FastWeights` must know about the texts."""
        return dataclasses.replace(self, **known_of(texts, self.nbits))

    def layout(self, K):
        """The layout of the words that `pack` makes from codes (N, K)."""
        return self.weights.layout(K)

    def pack(self, W_q, scales, zeros):
        """Pack codes (N, K) uint8 for a call: returns (W_packed, scales, zeros).

        scales, zeros: numbers, or float32 tensors (1, 1), (N, 1) or (N, K // group_size). They
        become float16 (groups, N). Raises ValueError for values beyond the range of float16, and
        for scales so small that float16 would lose them.
        """
        check_codes(W_q, self.nbits)
        return self.weights.pack(W_q), *self._scales_and_zeros(W_q, scales, zeros)

    def _scales_and_zeros(self, W_q, scales, zeros):
        (N, K), layout = W_q.shape, self.layout(W_q.shape[1])
        shape, given = (N, K // (self.group_size or K)), {"scales": scales, "zeros": zeros}
        halves = (_as_halves(name, value, shape, W_q.device) for name, value in given.items())
        return tuple(layout.pad_groups(values.T) for values in halves)

    def shape(self, x, W, N):
        """(M, N, K); W holds words from `pack`."""
        check_matrix("x", x, self.x_dtype)
        self._check_not_ternary(N, None)
        (M, K), N = x.shape, _checked_words(W, self.layout(x.shape[1]))
        check_sizes(M, N, K)
        return M, N, K

    def tensors(self, shape, x, W, scales, zeros, token_scales):
        """{name: tensor or None}; scales and zeros come from `pack`.

        If K is not a multiple of 8, x is copied and its rows are padded with zeros. `Kernel` adds
        the levels.
        """
        self._check_not_ternary(None, token_scales)
        _, N, K = shape
        for name, tensor in {"scales": scales, "zeros": zeros}.items():
            _check_of_groups(name, tensor, (self.layout(K).padded_groups, N), x)
        tensors = {"x": whole_tiles(x, X_TILE), "W_packed": W, "scales": scales, "zeros": zeros}
        none = dict.fromkeys(("channel_scales", "token_scales", "bias", "levels"))
        return {name: aligned(tensor) for name, tensor in tensors.items()} | none

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); ValueError if the machine lacks these tensor cores."""
        if machine.capability < TURING:
            raise ValueError(
                f"{self.name} needs the tensor cores of compute capability 7.5 or more, and this "
                f"GPU has {machine.named}: use {self.on_older_gpus}"
            )
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return plan_gemv(M, N, K + -K % X_TILE, types, self.weights, machine)


@dataclass(frozen=True, kw_only=True)
class SparseFastGemv(FastGemv):
    """gemv_a16w7_sparse_fast: the same kernel for 7-bit 1:2 sparse weights.

    The pruned weight of a pair is 0, whatever the zero; times an infinite x it gives NaN.
    """

    name: str = "gemv_a16w7_sparse_fast"

    takes_nbits = False
    texts = (SparseWeights.text,)
    on_older_gpus = "gemv_a16w7_sparse"

    @cached_property
    def weights(self):
        """The `SparseWeights`."""
        return SparseWeights(self.group_size)

    def pack(self, W_q, kept, scales, zeros):
        """Pack codes (N, K) uint8 below 128 for a call: returns (W_packed, scales, zeros).

        kept: (N, K), nonzero at the kept weight of each pair, as `tiled_sparsity_50` returns it.
        scales, zeros: as for `FastGemv.pack`.
        """
        return pack_sparse_1in2(W_q, kept), *self._scales_and_zeros(W_q, scales, zeros)


FAST_KERNELS = {spec.name: spec for spec in (FastGemv(), SparseFastGemv())}


@lru_cache(maxsize=1024)
def plan_gemv(M, N, K, types, weights, machine):
    """The `Plan` for y (M, N), K a multiple of X_TILE; ValueError if the problem is too large.

    If not all rows of x fit into a block, the kernel makes grid[1] passes over the weights.
    """
    if N * (K + -K % weights.step) > _MOST_CODES:
        raise ValueError(f"W of {N} x {K} codes is too large for a launch: split it by rows")
    limit = machine.shared_bytes_per_block - weights.hole_bytes
    rows = rows_in_one_pass(M)
    while rows:
        tiles = _tiles_of_a_warp(N, K, rows, weights, machine.multiprocessors)
        need = _Need.of(K, rows, tiles, types.x, weights)
        most_tiles = (limit - need.x_bytes) // need.bytes_of_a_tile
        turns = -(-N // (need.tile_n * machine.multiprocessors * max(most_tiles, 1)))
        # A block loads x once per turn, which must be little compared with the turn's codes.
        is_little = turns == 1 or rows == 1 or 2 * rows <= most_tiles * weights.nbits
        if most_tiles >= 1 and is_little:
            starts_early = _starts_early(N * K * weights.nbits // 8, machine)
            most_blocks = machine.multiprocessors * turns
            return need.plan((M, N, K), types, weights, most_blocks, starts_early)
        rows //= 2
    raise ValueError(
        f"x of K = {K} takes {need.x_bytes + need.bytes_of_a_tile} bytes of shared memory, and "
        f"a block of compute capability {machine.named} has {limit} for it: split K over calls"
    )


def _starts_early(bytes_of_W, machine):
    return machine.starts_early and _LEAST_EARLY_BYTES <= bytes_of_W <= _MOST_EARLY_BYTES


def _tiles_of_a_warp(N, K, rows, weights, multiprocessors):
    """Tensor-core tiles that a warp computes at once: with more of them it reads x less often.

    Of two and three, those with which a block computes fewest outputs. One, if a block would then
    compute fewer, for a table by more than a seventh; or if a warp with one row of x, which is
    little to read, would have fewer steps than tiles. Three share so much of a table's decoding
    that they need no more steps.
    """
    steps = -(-K // weights.step)

    def turns(tiles):
        return -(-N // (16 * tiles * multiprocessors))

    def has_steps(tiles):
        is_shared = rows > 1 or (weights.hole_bytes and tiles == 3)
        return is_shared or turns(tiles) * steps >= tiles * min(weights.warps(tiles), steps)

    most = weights.most_tiles(rows)
    choices = [tiles for tiles in (2, 3) if tiles <= most and has_steps(tiles)]
    tiles = min(choices, key=lambda tiles: tiles * turns(tiles), default=1)
    tolerance = 8 / 7 if weights.hole_bytes else 1
    return tiles if tiles * turns(tiles) <= turns(1) * tolerance else 1


class _Need(NamedTuple):
    """What a block needs: rows, warps, and shared memory for x and for the sums of each tile."""

    rows: int
    warps: int
    tile_n: int
    x_bytes: int
    bytes_of_a_tile: int

    @classmethod
    def of(cls, K, rows, tiles, x_dtype, weights):
        steps, tile_n = -(-K // weights.step), 16 * tiles
        padded_K = steps * weights.step
        warps, parts = min(weights.warps(tiles), steps), padded_K // weights.part
        x_bytes = rows * (2 * padded_K + weights.bytes_of_a_part(x_dtype) * parts)
        return cls(rows, warps, tile_n, x_bytes, rows * warps * tile_n * 4)

    def plan(self, shape, types, weights, most_blocks, starts_early):
        """The `Plan` with at most `most_blocks` blocks."""
        M, N, _ = shape
        tiles = -(-N // self.tile_n)
        blocks = min(most_blocks, tiles)
        defines = weights.defines | {
            "TILES": self.tile_n // 16,
            "GROUP_SIZE": weights.group_size or WHOLE_ROW,
            "WARPS": self.warps,
            "ROWS": self.rows,
            **types.defines,
        }
        shared = self.x_bytes + -(-tiles // blocks) * self.bytes_of_a_tile
        grid, threads = (blocks, -(-M // self.rows)), self.warps * WARP_SIZE
        about = dict(starts_early=starts_early, text=weights.text, entry=FastGemv.entry)
        return Plan((Launch(grid, threads, shared, shape, defines, **about),))


def _checked_words(W_packed, layout):
    """N, after checking that W_packed matches `layout`."""
    named = layout.shape("N")
    N = W_packed.shape[named.index("N")] if W_packed.dim() == len(named) else 0
    if not N or tuple(W_packed.shape) != layout.shape(N) or W_packed.dtype != layout.word_dtype:
        raise ValueError(
            f"x has K = {layout.K}, for which W must be ({', '.join(map(str, named))}) "
            f"{layout.word_dtype} as pack makes it, got {tuple(W_packed.shape)} {W_packed.dtype}"
        )
    check_no_grad("W", W_packed)
    return N


def _check_of_groups(name, tensor, shape, x):
    if isinstance(tensor, torch.Tensor) and tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must be {shape} as pack makes it, got {tuple(tensor.shape)}")
    check_matrix(name, tensor, torch.float16)
    if tensor.device != x.device:
        raise ValueError(f"{name} is on {tensor.device} and x on {x.device}: move one to the other")


def _as_halves(name, value, shape, device):
    """Scales or zeros as a float16 tensor of `shape` (N, groups)."""
    if value is None:
        raise TypeError(f"{name} must be given: a number, or a float32 tensor {shape}")
    values = per_group(name, value, shape, torch.float32, device)
    halves = values.half()
    if (halves.isinf() & values.isfinite()).any():
        raise ValueError(f"{name} must fit in float16, up to 65504: scale x instead")
    if name == "scales" and ((halves - values).abs() > _MOST_LOST * values.abs()).any():
        raise ValueError(
            "scales must fit in float16, from 2**-14 on: multiply them by a power of two, and "
            "divide y by it"
        )
    return halves
