"""y = x W^T for few rows of x: each program takes rows of W and a chunk of K, and adds products up.

Grid (M * N / BLOCK_N, chunks of K). A program's sums go to `partial` (chunks, M, N), float32, or
int32 for int8 x: a second kernel, `add_chunks`, adds the chunks in their order. ATOMIC: they are
added to a zeroed partial (1, M, N) at once, in whatever order the programs end.

x (M, K), W_packed and high: `packing.plane_tiles`; scales, zeros (K / GROUP, N), or None.
Source: GemLite's GEMV.
"""

import triton
import triton.language as tl

from .dequantize import load_tile
from .tile_sum import tile_sum


@triton.jit
def gemv(
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
    m, chunk = tl.program_id(0) % M, tl.program_id(1)
    n = tl.program_id(0) // M * BLOCK_N + tl.arange(0, BLOCK_N)
    row = n % N  # rows beyond N read others again, and are not stored
    words_at = row[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
    x_ptrs = x_ptr + tl.cast(m, tl.int64) * K + tl.arange(0, DEPTH)
    tile_stride = tl.cast(N, tl.int64) * DEPTH
    tiles = K // (FIELDS * DEPTH)
    tiles_of_a_chunk = tl.cdiv(tiles, tl.num_programs(1))
    first = chunk * tiles_of_a_chunk

    acc = tl.zeros((BLOCK_N, DEPTH), partial_ptr.dtype.element_ty)
    for tile in tl.range(first, min(first + tiles_of_a_chunk, tiles), num_stages=STAGES):
        words, high_words = load_tile(W_ptr, high_ptr, tile * tile_stride + words_at, NBITS)
        acc = tile_sum(
            acc, words, high_words, x_ptrs, scales_ptr, zeros_ptr, row, tile, N,
            NBITS, FIELDS, DEPTH, GROUP, FMA,
        )  # fmt: skip

    sums = tl.sum(acc, axis=1)
    if ATOMIC:
        tl.atomic_add(partial_ptr + tl.cast(m, tl.int64) * N + n, sums, mask=n < N)
    else:
        tl.store(partial_ptr + (tl.cast(chunk, tl.int64) * M + m) * N + n, sums, mask=n < N)
