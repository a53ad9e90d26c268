# ruff: noqa: F821
import triton
import triton.language as tl


@triton.jit
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
    row_at = row[:, None] * stride_sn

    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for tile in range(split, K // BLOCK_K, SPLIT_K):
        k = tile * BLOCK_K + tl.arange(0, BLOCK_K)
        group_at = tile * BLOCK_K // GROUP * stride_sg
        scales = tl.load(scales_ptr + group_at + row_at)
        zeros = tl.load(zeros_ptr + group_at + row_at)
        byte = tile * BLOCK_K // 2 + tl.arange(0, BLOCK_K // 2)
        b_ptrs = b_ptr + row[:, None] * stride_bn + byte[None, :] * stride_bk
        pairs = load_pairs(b_ptrs, tile * BLOCK_K, K, GROUP, BLOCK_K)
        even, odd = shifted(pairs, zeros, DTYPE)
        x_ptrs = x_ptr + token[None, :] * K + k[:, None]
        codes = tl.join(even, odd).reshape(BLOCK_N, BLOCK_K)
        acc += tl.dot(codes, tl.load(x_ptrs).to(DTYPE)) * scales

    at = (split * M + m[None, :]) * N + n[:, None]
    tl.store(partial_ptr + at, acc, mask=(m < M)[None, :] & (n < N)[:, None])
