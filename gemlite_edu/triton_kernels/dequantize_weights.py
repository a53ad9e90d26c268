"""Packed weights as a dense matrix (N, K) of DTYPE, for a product that a library does faster.

Grid (N / BLOCK_N, tiles). scales, zeros (K / GROUP, N), channel_scales (N,), or None. A weight is
computed in float32 and rounded once. FMA: q s + z with -z s in zeros_ptr, else (q - z) s.
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
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    row, depth = n % N, tl.arange(0, DEPTH)
    tile = tl.cast(tl.program_id(1), tl.int64)
    words_at = tile * N * DEPTH + row[:, None] * DEPTH + depth[None, :]
    words, high_words = load_tile(W_ptr, high_ptr, words_at, NBITS)
    for field in tl.static_range(FIELDS):
        k = (tile * FIELDS + field) * DEPTH
        group_index = 0 if GROUP is None else k // GROUP
        weights = plane_of(words, high_words, field, NBITS, tl.float32)
        if zeros_ptr is not None:
            zeros = tl.load(zeros_ptr + group_index * N + row).to(tl.float32)[:, None]
        if zeros_ptr is not None and not FMA:
            weights -= zeros
        if scales_ptr is not None:
            weights *= tl.load(scales_ptr + group_index * N + row).to(tl.float32)[:, None]
        if FMA:
            weights += zeros
        if channel_scales_ptr is not None:
            weights *= tl.load(channel_scales_ptr + row).to(tl.float32)[:, None]
        at = tl.cast(n, tl.int64)[:, None] * K + k + depth[None, :]
        tl.store(dense_ptr + at, weights.to(dense_ptr.dtype.element_ty), mask=(n < N)[:, None])
