# ruff: noqa: F821
import triton
import triton.language as tl


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
    first_k = tl.program_id(0) * BLOCK_K
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    chunk = tl.cast(tl.program_id(2), tl.int64)
    token = m % M
    tiles = tl.cdiv(N, BLOCK_N)
    tiles_of_a_chunk = tl.cdiv(tiles, tl.num_programs(2))
    first = tl.program_id(2) * tiles_of_a_chunk
    last = min(first + tiles_of_a_chunk, tiles)

    n = first * BLOCK_N + tl.arange(0, BLOCK_N)
    byte = first_k // 2 + tl.arange(0, BLOCK_K // 2)
    x_ptrs = x_ptr + token[:, None] * N + n[None, :]
    b_ptrs = b_ptr + n[:, None] * stride_bn + byte[None, :] * stride_bk
    pair_at = first_k // GROUP * stride_sg + n[:, None] * stride_sn
    even_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    odd_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    for _ in range(last - first):
        is_row = n < N
        x = tl.load(x_ptrs, mask=is_row[None, :], other=0.0).to(DTYPE)
        pairs = tl.load(b_ptrs, mask=is_row[:, None], other=0)
        scales = tl.load(scales_ptr + pair_at, mask=is_row[:, None], other=0.0).to(DTYPE)
        zeros = tl.load(zeros_ptr + pair_at, mask=is_row[:, None], other=0.0)
        even, odd = shifted(pairs, zeros, DTYPE)
        even_sum = tl.dot(x, even * scales, even_sum)
        odd_sum = tl.dot(x, odd * scales, odd_sum)
        n += BLOCK_N
        x_ptrs += BLOCK_N
        b_ptrs += BLOCK_N * stride_bn
        pair_at += BLOCK_N * stride_sn
    y = tl.interleave(even_sum, odd_sum)

    k = first_k + tl.arange(0, BLOCK_K)
    at = (chunk * M + m[:, None]) * K + k[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=(m < M)[:, None])
