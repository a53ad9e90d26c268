"""Convert packed weights to a dense matrix (N, K) of DTYPE, which a library may multiply faster.

Each program converts BLOCK_N rows of one tile. Consecutive programs take the tiles of a row one
after the other, so they write adjacent memory. scales, zeros (K / GROUP, N), channel_scales (N,),
or None. A weight is computed in float32 and rounded once: FMA: q s + z with -z s in zeros_ptr,
else (q - z) s.
"""

import triton
import triton.language as tl

from .dequantize import load_tile, plane_of


@triton.jit
def dequantize_weights(
    W_ptr,
    high_ptr,
    scales_ptr,
    zeros_ptr,
    channel_scales_ptr,
    dense_ptr,
    N,
    K,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    TILE: tl.constexpr = FIELDS * DEPTH
    tiles, program = K // TILE, tl.program_id(0)
    tile = tl.cast(program % tiles, tl.int64)
    n = program // tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    row, depth, field = n % N, tl.arange(0, DEPTH), tl.arange(0, FIELDS)
    words_at = tile * N * DEPTH + row[:, None] * DEPTH + depth[None, :]
    words, high_words = load_tile(W_ptr, high_ptr, words_at, NBITS)
    planes = planes_of(words, high_words, 0, FIELDS, NBITS)
    weights = planes.reshape(BLOCK_N, FIELDS, DEPTH)
    group = field * 0 if GROUP is None else (tile * FIELDS + field) * DEPTH // GROUP
    scale_at = group[None, :] * N + row[:, None]
    if zeros_ptr is not None:
        zeros = tl.load(zeros_ptr + scale_at).to(tl.float32)[:, :, None]
    if zeros_ptr is not None and not FMA:
        weights -= zeros
    if scales_ptr is not None:
        weights *= tl.load(scales_ptr + scale_at).to(tl.float32)[:, :, None]
    if FMA:
        weights += zeros
    if channel_scales_ptr is not None:
        weights *= tl.load(channel_scales_ptr + row).to(tl.float32)[:, None, None]
    at = tl.cast(n, tl.int64)[:, None] * K + tile * TILE + tl.arange(0, TILE)[None, :]
    dense = weights.to(dense_ptr.dtype.element_ty).reshape(BLOCK_N, TILE)
    tl.store(dense_ptr + at, dense, mask=(n < N)[:, None])


@triton.jit
def planes_of(words, high_words, first: tl.constexpr, count: tl.constexpr, NBITS: tl.constexpr):
    """So many planes of codes from one on, as float32, side by side: (rows, count * DEPTH)."""
    if count == 1:
        plane = plane_of(words, high_words, first, NBITS, tl.float32)
        return tl.broadcast_to(plane, words.shape)  # a replaced `unpack` may have given a column
    else:
        half: tl.constexpr = count // 2
        left = planes_of(words, high_words, first, half, NBITS)
        right = planes_of(words, high_words, first + half, half, NBITS)
        joined = tl.join(left, right).permute(0, 2, 1)
        return joined.reshape(left.shape[0], 2 * left.shape[1])
