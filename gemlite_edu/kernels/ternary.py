"""How the kernels for ternary weights and int8 activations are cut into blocks."""

from typing import NamedTuple

import torch

from gemlite_edu.kernels.gemv import Launch, rows_in_one_pass
from gemlite_edu.kernels.machine import shared_bytes_per_block
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.packing.bitnet_2bit import TILE_N

Y_TYPES = {torch.int32: "int", torch.float16: "half", torch.bfloat16: "__nv_bfloat16"}

_WARP_SIZE = 32
_FRAGMENT_K, _BUFFERS = 16, 3
_MANY_BLOCKS = 264  # twice the multiprocessors of an H200


class TernaryGemv:
    """gemv_a8w2_dp4a: a block for 16 outputs and up to 8 rows of x; its warps share out K."""

    entry, fragments = "gemv", (None,)

    def plan(self, M, N, K, y_dtype, capability, fragment):
        """The `Launch` for y (M, N); K is whole tiles."""
        rows, warps = rows_in_one_pass(M), _warps_of_gemv(M, N, K)
        grid = (-(-N // TILE_N), -(-M // rows))
        defines = {"Y_T": Y_TYPES[y_dtype], "ROWS": rows, "WARPS": warps}
        return Launch(defines, grid, warps * _WARP_SIZE, 0, (M, N, K))


def _warps_of_gemv(M, N, K):
    """Few blocks want many warps each to fill a GPU; many blocks fewer, with more steps each.

    The numbers were tuned by hand on an H200, at BitNet's ten shapes.
    """
    if M > 1:
        return 8
    if N <= 400 * TILE_N:
        return 16
    return 4 if K < 4096 else 8


class Blocks(NamedTuple):
    """A block of the GEMM: its tokens, outputs and step along K, and how warps share it out."""

    M: int
    N: int
    K: int
    warps_m: int
    warps_n: int
    warps_k: int

    @property
    def shared_bytes(self):
        """Size of the kernel's `Room`: the buffers of the steps, and later the sums."""
        slabs = self.K // _FRAGMENT_K
        x = _BUFFERS * slabs * (self.M * _FRAGMENT_K + 32)
        words = _BUFFERS * self.N * self.K // 4
        W = 2 * slabs * (self.N * _FRAGMENT_K + 32)
        return max(x + words + W, self.warps_k * self.M * (self.N + 8) * 4)


_SMALL = Blocks(64, 64, 64, 2, 2, 1)  # for devices with little shared memory


class TernaryGemm:
    """gemm_a8w2_wmma: a block for a tile of y; its warps share out the tile and each step of K."""

    entry, fragments = "gemm", tuple(FRAGMENTS)

    def plan(self, M, N, K, y_dtype, capability, fragment):
        """The `Launch` for y (M, N); K is whole tiles."""
        tokens, outputs = FRAGMENTS[fragment]
        blocks = blocks_of_gemm(M, N, tokens)
        if blocks.shared_bytes > shared_bytes_per_block(capability):
            blocks = _SMALL
        defines = {
            "Y_T": Y_TYPES[y_dtype],
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
        threads = blocks.warps_m * blocks.warps_n * blocks.warps_k * _WARP_SIZE
        return Launch(defines, grid, threads, blocks.shared_bytes, (M, N, K))


def blocks_of_gemm(M, N, fragment_m):
    """The `Blocks` for that many tokens and outputs, tuned by hand on an H200.

    Few tokens: narrow blocks, so that all multiprocessors have one, whose warps share out K. Blocks
    of more tokens decode W less often, and were slower where they were fewer.

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


TERNARY_KERNELS = {"gemv_a8w2_dp4a": TernaryGemv(), "gemm_a8w2_wmma": TernaryGemm()}
