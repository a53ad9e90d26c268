"""The GEMV with twice the work per iteration: two tiles of K share one load of scales and zeros.

Like `gemv`, but an iteration loads two neighbouring tiles before it adds up the first. If both
lie in one group, or there are no groups, it loads scales and zeros once for both.
Source: GemLite's RevSplit-K: the reverse of Split-K, which gives a program less work.
"""

import triton
import triton.language as tl

from .dequantize import load_tile
from .tile_sum import planes_sum, scaled, tile_sum


@triton.jit
def gemv_revsplitk(
    x_ptr,
    W_ptr,
    high_ptr,
    scales_ptr,
    zeros_ptr,
    partial_ptr,
    M,
    N,
    K,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
    ATOMIC: tl.constexpr,
    BLOCK_N: tl.constexpr,
    STAGES: tl.constexpr,
):
    TILE: tl.constexpr = FIELDS * DEPTH
    m, chunk = tl.program_id(0) % M, tl.program_id(1)
    n = tl.program_id(0) // M * BLOCK_N + tl.arange(0, BLOCK_N)
    row = n % N
    words_at = row[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
    x_ptrs = x_ptr + tl.cast(m, tl.int64) * K + tl.arange(0, DEPTH)
    tile_stride = tl.cast(N, tl.int64) * DEPTH
    tiles = K // TILE
    tiles_of_a_chunk = tl.cdiv(tl.cdiv(tiles, 2), tl.num_programs(1)) * 2
    first = chunk * tiles_of_a_chunk
    last = min(first + tiles_of_a_chunk, tiles)

    acc = tl.zeros((BLOCK_N, DEPTH), partial_ptr.dtype.element_ty)
    for tile in tl.range(first, last - 1, 2, num_stages=STAGES):
        words, high_words = load_tile(W_ptr, high_ptr, tile * tile_stride + words_at, NBITS)
        words_2, high_words_2 = load_tile(
            W_ptr, high_ptr, (tile + 1) * tile_stride + words_at, NBITS
        )
        if GROUP is None or GROUP % (2 * TILE) == 0:
            group_index = 0 if GROUP is None else tile * TILE // GROUP
            products = tl.zeros((BLOCK_N, DEPTH), tl.float32)
            sum_x = tl.zeros((DEPTH,), tl.float32)
            x_of_tile = x_ptrs + tile * TILE
            products, sum_x = planes_sum(
                products, sum_x, words, high_words, x_of_tile, 0, FIELDS, NBITS, DEPTH
            )
            products, sum_x = planes_sum(
                products, sum_x, words_2, high_words_2, x_of_tile + TILE, 0, FIELDS, NBITS, DEPTH
            )
            products = scaled(products, sum_x, scales_ptr, zeros_ptr, row, group_index, N, FMA)
            acc += products.to(acc.dtype)
        else:
            acc = tile_sum(
                acc, words, high_words, x_ptrs, scales_ptr, zeros_ptr, row, tile, N,
                NBITS, FIELDS, DEPTH, GROUP, FMA,
            )  # fmt: skip
            acc = tile_sum(
                acc, words_2, high_words_2, x_ptrs, scales_ptr, zeros_ptr, row, tile + 1, N,
                NBITS, FIELDS, DEPTH, GROUP, FMA,
            )  # fmt: skip
    if first < last and (last - first) % 2 == 1:
        words, high_words = load_tile(W_ptr, high_ptr, (last - 1) * tile_stride + words_at, NBITS)
        acc = tile_sum(
            acc, words, high_words, x_ptrs, scales_ptr, zeros_ptr, row, last - 1, N,
            NBITS, FIELDS, DEPTH, GROUP, FMA,
        )  # fmt: skip

    sums = tl.sum(acc, axis=1)
    if ATOMIC:
        tl.atomic_add(partial_ptr + tl.cast(m, tl.int64) * N + n, sums, mask=n < N)
    else:
        tl.store(partial_ptr + (tl.cast(chunk, tl.int64) * M + m) * N + n, sums, mask=n < N)
