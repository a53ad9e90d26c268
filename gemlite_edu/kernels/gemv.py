"""What the host must know of each kernel to launch it; the text knows the rest."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from gemlite_edu.kernels.machine import SHARED_BYTES_WITHOUT_OPT_IN, shared_bytes_per_block
from gemlite_edu.packing import BitPlanes3, Sparse1in2, WarpInterleaved

_X_TYPES = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16", torch.int8: "int8_t"}
_WARP_SIZE = 32
_MAX_ROWS = 8  # of x that share one pass over the packed weights
_WHOLE_ROW = 0x7FFFFFFF  # GROUP_SIZE of one scale per output


class Launch(NamedTuple):
    """One launch: integers follow the tensors as arguments.

    cluster: neighbours of the grid's first dimension that reach each other's shared memory.
    starts_early: before the kernel ahead of it has ended, whose work its text waits for.
    """

    defines: dict
    grid: tuple[int, int]
    threads: int
    shared_bytes: int
    integers: tuple[int, ...]
    cluster: int = 1
    starts_early: bool = False


@dataclass(frozen=True)
class PlainLaunch:
    """Unquantized weights: y = x Wᵀ."""

    stages_x: bool = False  # all of x in dynamic shared memory
    threads: int = 1024
    threads_per_output: int = _WARP_SIZE
    x_dtypes = (torch.float16, torch.bfloat16)
    takes_nbits = is_packed = False

    def plan(self, M, N, K, x_dtype, capability, **compiled_in):
        """The `Launch` for y (M, N); ValueError where x is too long for a block."""
        shared = K * x_dtype.itemsize * self.stages_x
        limit = shared_bytes_per_block(capability)
        if shared > limit:
            raise ValueError(
                f"x of K = {K} takes {shared} bytes of shared memory, and a block of compute "
                f"capability {capability[0]}.{capability[1]} has {limit}: split K over calls"
            )
        grid = (-(-N * self.threads_per_output // self.threads), M)
        return Launch({"X_T": _X_TYPES[x_dtype]}, grid, self.threads, shared, (N, K))


@dataclass(frozen=True)
class PackedLaunch:
    """Packed weights with scales and zeros: the kernels that gemv.cuh is the skeleton of.

    make_layout: a layout of `packing`; takes_nbits: made with the width of the codes.
    """

    make_layout: Callable
    takes_nbits: bool = False
    x_dtypes: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
    threads = 1024
    is_packed = True

    def layout(self, nbits):
        """The layout of the packed words of `nbits`-bit codes."""
        return self.make_layout(nbits) if self.takes_nbits else self.make_layout()

    def plan(self, M, N, K, x_dtype, capability, nbits, group_size):
        """The `Launch` for y (M, N), of any K and on any device."""
        layout = self.layout(nbits)
        rows = rows_in_one_pass(M)
        most_tiles = SHARED_BYTES_WITHOUT_OPT_IN // (rows * x_dtype.itemsize * layout.tile)
        tiles_staged = min(most_tiles, layout.padded_K(K) // layout.tile)
        defines = {
            "X_T": _X_TYPES[x_dtype],
            "ROWS": rows,
            "GROUP_SIZE": group_size or _WHOLE_ROW,
            "CODES_PER_GROUP": codes_per_group(layout, group_size),
        }
        if self.takes_nbits:
            defines["W_NBITS"] = nbits
        grid = (-(-N * _WARP_SIZE // self.threads), -(-M // rows))
        integers = (M, N, K, K // (group_size or K), tiles_staged)
        shared = rows * tiles_staged * layout.tile * x_dtype.itemsize
        return Launch(defines, grid, self.threads, shared, integers)


def rows_in_one_pass(M):
    """Rows of x that share one pass over the weights: M up to 8, and to a power of two.

    >>> [rows_in_one_pass(M) for M in (1, 3, 8, 9)]
    [1, 4, 8, 8]
    """
    return min(2 ** max(M - 1, 0).bit_length(), _MAX_ROWS)


def codes_per_group(layout, group_size):
    """How many codes of a word, one after the other, share a group, whatever the lane and word.

    They are 32 apart in k, so that it is one where group_size is no multiple of 32.

    >>> [codes_per_group(WarpInterleaved(4), size) for size in (None, 128, 96, 64, 48)]
    [8, 4, 1, 2, 1]
    """
    pack_factor = layout.tile // _WARP_SIZE
    if group_size is None:
        return pack_factor
    return 1 if group_size % _WARP_SIZE else math.gcd(pack_factor, group_size // _WARP_SIZE)


_INT8 = (torch.int8,)

KERNELS = {
    "gemv_a16w16_naive": PlainLaunch(threads=256, threads_per_output=1),
    "gemv_a16w16_coalesced": PlainLaunch(),
    "gemv_a16w16_warp": PlainLaunch(),
    "gemv_a16w16_shared": PlainLaunch(stages_x=True),
    "gemv_a16wn_fp32": PackedLaunch(WarpInterleaved, takes_nbits=True),
    "gemv_a16wn_float4": PackedLaunch(WarpInterleaved, takes_nbits=True),
    "gemv_a16wn_half2": PackedLaunch(WarpInterleaved, takes_nbits=True, x_dtypes=(torch.float16,)),
    "gemv_a8wn_int32": PackedLaunch(WarpInterleaved, takes_nbits=True, x_dtypes=_INT8),
    "gemv_a8wn_dp4a": PackedLaunch(WarpInterleaved, takes_nbits=True, x_dtypes=_INT8),
    "gemv_a16w3_planes": PackedLaunch(BitPlanes3),
    "gemv_a16w7_sparse": PackedLaunch(Sparse1in2),
}
