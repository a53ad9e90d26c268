# ruff: noqa: F821
import triton.language as tl


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

    group = first_k // GROUP
    byte = first_k // 2 + tl.arange(0, BLOCK_K // 2)
    even_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    odd_sum = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    of_zeros = tl.zeros((BLOCK_M,), tl.float32)
    for tile in range(first, last):
        n = tile * BLOCK_N + tl.arange(0, BLOCK_N)
        row = n % N
        x = tl.load(x_ptr + token[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)
        pairs = tl.load(b_ptr + row[:, None] * stride_bn + byte[None, :] * stride_bk)
        pair_at = group * stride_sg + row * stride_sn
        scales = tl.load(scales_ptr + pair_at).to(tl.float32)
        zeros = tl.load(zeros_ptr + pair_at).to(tl.float32)
        scaled_x = x.to(tl.float32) * scales[None, :]
        of_zeros += (scaled_x * zeros[None, :]).sum(axis=1)
        scaled_x = scaled_x.to(DTYPE)
        even, odd = shifted(pairs, tl.zeros((BLOCK_N, 1), tl.float32), DTYPE)
        even_sum += tl.dot(scaled_x, even)
        odd_sum += tl.dot(scaled_x, odd)
    y = tl.join(even_sum - of_zeros[:, None], odd_sum - of_zeros[:, None])
    y = y.reshape(BLOCK_M, BLOCK_K)

    k = first_k + tl.arange(0, BLOCK_K)
    at = (chunk * M + m[:, None]) * K + k[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=(m < M)[:, None])
