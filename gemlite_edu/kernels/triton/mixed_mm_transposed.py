"""y = x W for the packed int4 weights of `mixed_mm`: the product that the backward pass needs.

Grid (pieces of K, M / BLOCK_M, chunks of N). Here the sum runs over the rows of W. Even and odd k
are different outputs: each has its own sum, and the kernel interleaves them at the end. Every row
has its own scale, so the kernel scales the weights before the sum. A program stays in one group.

x (M, N); b: bytes (K / 2, N) of two codes; scales, zeros: (K / GROUP, N); any strides;
y (chunks, M, K): with more than one, `add_chunks` adds them.
Source: torchao's triton_mixed_mm, transposed=True.
"""

import triton
import triton.language as tl

from .int4_pairs import load_pairs, piece_at, shifted


@triton.jit
def mixed_mm_transposed(
    x_ptr,
    b_ptr,
    scales_ptr,
    zeros_ptr,
    y_ptr,
    M,
    N,
    K,
    stride_bk,
    stride_bn,
    stride_sg,
    stride_sn,
    GROUP: tl.constexpr,
    DTYPE: tl.constexpr,
    DOT_DTYPE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    group, first_k = piece_at(tl.program_id(0), GROUP, BLOCK_K)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    chunk = tl.cast(tl.program_id(2), tl.int64)
    byte = tl.cast(first_k // 2, tl.int64) + tl.arange(0, BLOCK_K // 2)[None, :]
    x_ptrs = x_ptr + tl.cast(m % M, tl.int64)[:, None] * N
    b_ptrs = b_ptr + byte * stride_bk
    tiles = tl.cdiv(N, BLOCK_N)
    tiles_of_a_chunk = tl.cdiv(tiles, tl.num_programs(2))
    first = tl.program_id(2) * tiles_of_a_chunk

    even_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    odd_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    for tile in range(first, min(first + tiles_of_a_chunk, tiles)):
        n = tile * BLOCK_N + tl.arange(0, BLOCK_N)
        row = tl.cast(n % N, tl.int64)[:, None]
        x = tl.load(x_ptrs + n[None, :], mask=(n < N)[None, :], other=0.0).to(DTYPE)
        pairs = load_pairs(b_ptrs + row * stride_bn, first_k, K, GROUP, BLOCK_K)
        scales = tl.load(scales_ptr + group * stride_sg + row * stride_sn).to(DTYPE)
        zeros = tl.load(zeros_ptr + group * stride_sg + row * stride_sn)
        even, odd = shifted(pairs, zeros, DTYPE)
        even_sum += tl.dot(x, even * scales, out_dtype=DOT_DTYPE).to(tl.float32)
        odd_sum += tl.dot(x, odd * scales, out_dtype=DOT_DTYPE).to(tl.float32)

    y = tl.join(even_sum, odd_sum).reshape(BLOCK_M, BLOCK_K)
    k = first_k + tl.arange(0, BLOCK_K)[None, :]
    at = chunk * M * K + tl.cast(m, tl.int64)[:, None] * K + k
    is_y = (m < M)[:, None] & (k // GROUP == group)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=is_y)
