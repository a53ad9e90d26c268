"""Functions of the int4 kernels, where a byte holds two neighbours along k (`packing.int4_pairs`).

The kernels step through k in pieces of BLOCK_K. A piece never crosses into another group, so one
column of scales and zeros is enough for it. If BLOCK_K divides GROUP, all pieces are full; else the
last piece of a group is not, and if GROUP is odd, its first may start in the middle of a byte.
"""

import triton
import triton.language as tl

from .dequantize import plane_of


@triton.jit
def piece_at(piece, GROUP: tl.constexpr, BLOCK_K: tl.constexpr):
    """(group, first k) of a piece; a k of it is inside of the group where k // GROUP is group."""
    PIECES: tl.constexpr = (GROUP + BLOCK_K - 1) // BLOCK_K
    group = piece // PIECES
    first = group * GROUP // 2 * 2 + piece % PIECES * BLOCK_K
    return tl.cast(group, tl.int64), first


@triton.jit
def load_pairs(ptrs, first, K, GROUP: tl.constexpr, BLOCK_K: tl.constexpr):
    """The bytes at ptrs (rows, BLOCK_K / 2), a piece that begins at k = first; 0 beyond K."""
    if GROUP % BLOCK_K == 0:
        return tl.load(ptrs)
    else:
        byte = first // 2 + tl.arange(0, BLOCK_K // 2)[None, :]
        return tl.load(ptrs, mask=byte < K // 2, other=0)


@triton.jit
def shifted(pairs, zeros, DTYPE: tl.constexpr):
    """(codes of even k, of odd k) of bytes (rows, columns), less zeros (rows, 1), as `DTYPE`.

    int8 bytes hold signed codes: with its highest bit flipped, one reads as 8 more than it is, so
    its zero grows by 8, too.
    """
    FLIPPED: tl.constexpr = 8 if pairs.dtype == tl.int8 else 0
    pairs = pairs.to(tl.uint8, bitcast=True)
    zeros = (zeros.to(tl.float32) + FLIPPED).to(DTYPE)
    even = plane_of(pairs, pairs, 0, 4, DTYPE, FLIPPED) - zeros
    return even, plane_of(pairs, pairs, 1, 4, DTYPE, FLIPPED) - zeros
