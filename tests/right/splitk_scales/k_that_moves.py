# ruff: noqa: F821
import triton.language as tl


def splitk_scales(
    x_ptr,
    b_ptr,
    scales_ptr,
    zeros_ptr,
    partial_ptr,
    M,
    N,
    K,
    stride_bk,
    stride_bn,
    stride_sg,
    stride_sn,
    GROUP: tl.constexpr,
    SPLIT_K: tl.constexpr,
    DTYPE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    split = tl.program_id(2)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    row, token = n % N, m % M
    k = split * BLOCK_K + tl.arange(0, BLOCK_K)
    byte = split * BLOCK_K // 2 + tl.arange(0, BLOCK_K // 2)
    x_ptrs = x_ptr + token[None, :] * K + k[:, None]
    b_ptrs = b_ptr + row[:, None] * stride_bn + byte[None, :] * stride_bk
    row_at = row[:, None] * stride_sn

    first_k = split * BLOCK_K
    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for _ in range(tl.cdiv(K // BLOCK_K - split, SPLIT_K)):
        group_at = first_k // GROUP * stride_sg
        scales = tl.load(scales_ptr + group_at + row_at)
        zeros = tl.load(zeros_ptr + group_at + row_at)
        even, odd = shifted(tl.load(b_ptrs), tl.zeros((BLOCK_N, 1), tl.float32), DTYPE)
        codes = tl.join(even, odd).reshape(BLOCK_N, BLOCK_K)
        x = tl.load(x_ptrs).to(DTYPE)
        sum_x = x.to(tl.float32).sum(axis=0)[None, :]
        acc += (tl.dot(codes, x) - zeros * sum_x) * scales
        first_k += SPLIT_K * BLOCK_K
        x_ptrs += SPLIT_K * BLOCK_K
        b_ptrs += SPLIT_K * BLOCK_K // 2 * stride_bk

    at = (split * M + m[None, :]) * N + n[:, None]
    tl.store(partial_ptr + at, acc, mask=(m < M)[None, :] & (n < N)[:, None])
