"""The kernels for ternary weights and int8 activations."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from gemlite_edu.kernels.plan import WARP_SIZE, Launch, Plan, check_sizes, rows_in_one_pass
from gemlite_edu.kernels.spec import Spec
from gemlite_edu.numbers.checks import aligned, check_matrix, per_group, whole_tiles
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.packing.bitnet_2bit import TILE_K, TILE_N

Y_TYPES = {torch.int32: "int", torch.float16: "half", torch.bfloat16: "__nv_bfloat16"}

_LONGEST_K = 2**31 // 256 - TILE_K  # int32 sums: |code - 2| is at most 2, |x| at most 128
_FRAGMENT_K, _BUFFERS = 16, 3
_MANY_BLOCKS = 264  # twice the multiprocessors of an H200


@dataclass(frozen=True, kw_only=True)
class Ternary(Spec):
    """A kernel for int8 x and 2-bit W in BitNet's packing; with y_dtype int32, y is the raw sum.

    fragment: the shape of a tensor-core product as tokens x outputs x k, or None.
    """

    y_dtype: torch.dtype = torch.int32
    fragment: str | None = None

    x_dtypes = (torch.int8,)
    takes_nbits = False
    fragments: ClassVar[tuple[str | None, ...]] = (None,)
    usual_shape = (TILE_N, TILE_K)

    @property
    def title(self):
        """The name and dtypes, for messages."""
        fragment = f", fragment={self.fragment}" if self.fragment else ""
        return f"{self.name}, y_dtype={self.y_dtype}{fragment}"

    def completed(self, nbits=None, x_dtype=None, group_size=None, y_dtype=None, fragment=None):
        """This spec with the arguments of `load`; ValueError for unsupported ones."""
        if not (nbits in (None, 2) and x_dtype in (None, torch.int8) and group_size is None):
            raise ValueError(
                f"{self.name} has 2-bit weights without groups and int8 x: "
                "leave nbits, x_dtype and group_size out"
            )
        return dataclasses.replace(
            self,
            x_dtype=torch.int8,
            y_dtype=_checked_y_dtype(self.name, y_dtype),
            fragment=_checked_fragment(self.name, fragment, self.fragments),
        )

    def shape(self, x, W, N):
        """(M, N, K), with K rounded up to whole tiles; W holds words from `pack_bitnet_2bit`."""
        check_matrix("x", x, torch.int8)
        check_matrix("W", W, torch.int32)
        M, K = x.shape
        return M, _checked_shape(M, N, K, W), K + -K % TILE_K

    def tensors(self, shape, x, W, scales, zeros, token_scales):
        """{"x", "W", "scales", "token_scales"}, with x padded to whole tiles."""
        M, N, _ = shape
        if zeros is not None:
            raise ValueError(f"{self.name} has no zeros: a code stands for itself less 2")
        if self.y_dtype == torch.int32 and not (scales is None and token_scales is None):
            raise ValueError(
                "y is int32, the sum alone: load with y_dtype=torch.float16 or torch.bfloat16 for "
                "scales, or leave them out"
            )
        return {
            "x": aligned(whole_tiles(x, TILE_K)),
            "W": aligned(W),
            "scales": factors("scales", scales, N, x.device),
            "token_scales": factors("token_scales", token_scales, M, x.device),
        }

    def _plan_of_one(self, defines, grid, threads, shared, shape):
        defines = {"Y_T": Y_TYPES[self.y_dtype]} | defines
        launch = Launch(grid, threads, shared, shape, defines, text=self.text, entry=self.entry)
        return Plan((launch,))


class TernaryGemv(Ternary):
    """gemv_a8w2_dp4a: a block computes 16 outputs for up to 8 rows of x; its warps split K."""

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); K is whole tiles."""
        rows, warps = rows_in_one_pass(M), _warps_of_gemv(M, N, K)
        grid, defines = (-(-N // TILE_N), -(-M // rows)), {"ROWS": rows, "WARPS": warps}
        return self._plan_of_one(defines, grid, warps * WARP_SIZE, 0, (M, N, K))


def _warps_of_gemv(M, N, K):
    """Warps per block: many if few blocks must fill the GPU; fewer, with more steps, if many do.

    The numbers were tuned by hand on an H200, at BitNet's ten shapes.
    """
    if M > 1:
        return 8
    if N <= 400 * TILE_N:
        return 16
    return 4 if K < 4096 else 8


class Blocks(NamedTuple):
    """A block of the GEMM: its tokens, outputs and step along K, and how its warps divide them."""

    M: int
    N: int
    K: int
    warps_m: int
    warps_n: int
    warps_k: int

    @property
    def shared_bytes(self):
        """Size of the kernel's `Room`, which holds the buffers of the steps and later the sums."""
        slabs = self.K // _FRAGMENT_K
        x = _BUFFERS * slabs * (self.M * _FRAGMENT_K + 32)
        words = _BUFFERS * self.N * self.K // 4
        W = 2 * slabs * (self.N * _FRAGMENT_K + 32)
        return max(x + words + W, self.warps_k * self.M * (self.N + 8) * 4)


_SMALL = Blocks(64, 64, 64, 2, 2, 1)  # for devices with little shared memory


class TernaryGemm(Ternary):
    """gemm_a8w2_wmma: a block computes a tile of y; its warps divide the tile and each K step."""

    entry, fragments = "gemm", tuple(FRAGMENTS)

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); K is whole tiles."""
        tokens, outputs = FRAGMENTS[self.fragment]
        blocks = blocks_of_gemm(M, N, tokens)
        if blocks.shared_bytes > machine.shared_bytes_per_block:
            blocks = _SMALL
        defines = {
            "FRAGMENT_M": tokens,
            "FRAGMENT_N": outputs,
            "BLOCK_M": blocks.M,
            "BLOCK_N": blocks.N,
            "BLOCK_K": blocks.K,
            "WARPS_M": blocks.warps_m,
            "WARPS_N": blocks.warps_n,
            "WARPS_K": blocks.warps_k,
            "SHARED_BYTES": blocks.shared_bytes,
        }
        grid = (-(-N // blocks.N), -(-M // blocks.M))
        threads = blocks.warps_m * blocks.warps_n * blocks.warps_k * WARP_SIZE
        return self._plan_of_one(defines, grid, threads, blocks.shared_bytes, (M, N, K))


def blocks_of_gemm(M, N, fragment_m):
    """The `Blocks` for M tokens and N outputs, tuned by hand on an H200.

    For few tokens, blocks are narrow, so that every multiprocessor has one, and their warps split
    K. Blocks with more tokens decode W less often, but were slower when there were too few blocks.

    >>> blocks_of_gemm(5, 4096, fragment_m=8).M, blocks_of_gemm(5, 4096, fragment_m=16).M
    (8, 16)
    """
    if M <= 32:
        return Blocks(fragment_m if M <= fragment_m else 32, 32, 512, 1, 1, 8)
    if M <= 64:
        return Blocks(64, 32, 512, 2, 1, 8)
    if _tiles(M, N, 64) < _MANY_BLOCKS:
        return Blocks(64, 64, 256, 1, 2, 8)
    if _tiles(M, N, 128) < _MANY_BLOCKS:
        return Blocks(64, 64, 128, 1, 2, 2)
    return Blocks(128, 128, 64, 2, 2, 1)


def _tiles(M, N, side):
    return -(-M // side) * -(-N // side)


TERNARY_KERNELS = {
    spec.name: spec
    for spec in (TernaryGemv(name="gemv_a8w2_dp4a"), TernaryGemm(name="gemm_a8w2_wmma"))
}


def _checked_y_dtype(name, y_dtype):
    y_dtype = torch.int32 if y_dtype is None else y_dtype
    if y_dtype not in Y_TYPES:
        takes = ", ".join(map(str, Y_TYPES))
        raise ValueError(f"y_dtype must be one of {takes} for {name}, got {y_dtype}")
    return y_dtype


def _checked_fragment(name, fragment, fragments):
    if fragments == (None,):
        if fragment is not None:
            raise ValueError(f"{name} multiplies without fragments: leave fragment out")
        return None
    fragment = "16x16x16" if fragment is None else fragment
    if fragment not in fragments:
        raise ValueError(
            f"fragment must be one of {', '.join(fragments)} (tokens x outputs x k), "
            f"got {fragment!r}"
        )
    return fragment


def _checked_shape(M, N, K, W_packed):
    """N, after checking that N and K fit the words."""
    rows, columns = W_packed.shape
    expected = -(-K // TILE_K) * TILE_K // 16
    if rows % TILE_N or columns != expected:
        raise ValueError(
            f"x has K = {K}, for which W must be (N rounded up to {TILE_N}, {expected}) words of "
            f"pack_bitnet_2bit, got {tuple(W_packed.shape)}"
        )
    N = rows if N is None else N
    if not isinstance(N, int) or isinstance(N, bool) or not rows - TILE_N < N <= rows:
        fitting = f"from {rows - TILE_N + 1} to {rows}"
        raise ValueError(f"W has {rows} rows, so N must be {fitting}, got {N!r}")
    if K > _LONGEST_K:
        raise ValueError(f"K may be up to {_LONGEST_K}, so that a sum fits into int32, got {K}")
    check_sizes(M, N, K)
    return N


def factors(name, value, count, device):
    """`value` as a float32 tensor (count, 1) on `device`; None is 1."""
    return per_group(name, 1.0 if value is None else value, (count, 1), torch.float32, device)
