"""y = x W^T for a small batch on tensor cores: programs split K, so that the whole GPU has work.

Grid (N / BLOCK_N, M / BLOCK_M, chunks of K). W is the left operand, y^T = W x^T, because W has many
rows and x few. A program stores its sums in `partial` (chunks, M, N), float32, or int32 for int8 x;
a second kernel, `add_chunks`, adds the chunks in order. ATOMIC: programs add their sums atomically
to a zeroed partial (1, M, N), in the order in which they end.

x (M, K), W_packed and high: `packing.plane_tiles`; scales, zeros (K / GROUP, N), or None.
Source: GemLite's Split-K GEMM.
"""

import triton
import triton.language as tl

from .tile_dot import add_tile


@triton.jit
def gemm_splitk(
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
    DTYPE: tl.constexpr,
    DOT_DTYPE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    chunk = tl.program_id(2)
    row, depth = n % N, tl.arange(0, DEPTH)
    words_at = row[:, None] * DEPTH + depth[None, :]
    x_ptrs = x_ptr + tl.cast(m % M, tl.int64)[None, :] * K + depth[:, None]
    tiles = K // (FIELDS * DEPTH)
    tiles_of_a_chunk = tl.cdiv(tiles, tl.num_programs(2))
    first = chunk * tiles_of_a_chunk

    acc = tl.zeros((BLOCK_N, BLOCK_M), partial_ptr.dtype.element_ty)
    for tile in range(first, min(first + tiles_of_a_chunk, tiles)):
        acc = add_tile(
            acc, tile, x_ptrs, W_ptr, high_ptr, scales_ptr, zeros_ptr, words_at, row, N,
            NBITS, FIELDS, DEPTH, GROUP, FMA, DTYPE, DOT_DTYPE,
        )  # fmt: skip

    is_y = (n < N)[:, None] & (m < M)[None, :]
    at = tl.cast(m, tl.int64)[None, :] * N + n[:, None]
    if ATOMIC:
        tl.atomic_add(partial_ptr + at, acc, mask=is_y)
    else:
        tl.store(partial_ptr + tl.cast(chunk, tl.int64) * M * N + at, acc, mask=is_y)
