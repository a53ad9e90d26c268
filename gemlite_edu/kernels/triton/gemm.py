"""y = x W^T for a batch on tensor cores: each program computes a block of y over all of K.

Grid (N / BLOCK_N, M / BLOCK_M). W is the left operand, y^T = W x^T. The program that computes a
block of y also applies the channel and token scales, adds the bias, and stores it.

x (M, K), W_packed and high: `packing.plane_tiles`; scales, zeros (K / GROUP, N); channel_scales and
bias (N,), token_scales (M,); all but x and W_packed may be None.
Source: GemLite's GEMM, after GPTQ-triton.
"""

import triton
import triton.language as tl

from .finish import finished
from .tile_dot import add_tile


@triton.jit
def gemm(
    x_ptr,
    W_ptr,
    high_ptr,
    scales_ptr,
    zeros_ptr,
    channel_scales_ptr,
    token_scales_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    K,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
    DTYPE: tl.constexpr,
    DOT_DTYPE: tl.constexpr,
    ACC_DTYPE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    row, depth = n % N, tl.arange(0, DEPTH)
    words_at = row[:, None] * DEPTH + depth[None, :]
    x_ptrs = x_ptr + tl.cast(m % M, tl.int64)[None, :] * K + depth[:, None]

    acc = tl.zeros((BLOCK_N, BLOCK_M), ACC_DTYPE)
    for tile in range(K // (FIELDS * DEPTH)):
        acc = add_tile(
            acc, tile, x_ptrs, W_ptr, high_ptr, scales_ptr, zeros_ptr, words_at, row, N,
            NBITS, FIELDS, DEPTH, GROUP, FMA, DTYPE, DOT_DTYPE,
        )  # fmt: skip

    y = finished(
        acc, channel_scales_ptr, row[:, None], token_scales_ptr, (m % M)[None, :], bias_ptr
    )
    at = tl.cast(m, tl.int64)[None, :] * N + n[:, None]
    is_y = (n < N)[:, None] & (m < M)[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=is_y)
