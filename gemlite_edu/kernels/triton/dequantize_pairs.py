"""Convert packed int4 weights to a dense matrix (N, K), which a library may multiply faster.

Grid (pieces of K, N / BLOCK_N). b: bytes (K / 2, N) of two codes; scales, zeros: (K / GROUP, N);
any strides. A weight (q - z) s is computed in float32 and rounded once.
"""

import triton
import triton.language as tl

from .int4_pairs import load_pairs, piece_at, shifted


@triton.jit
def dequantize_pairs(
    b_ptr,
    scales_ptr,
    zeros_ptr,
    dense_ptr,
    N,
    K,
    stride_bk,
    stride_bn,
    stride_sg,
    stride_sn,
    GROUP: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    group, first_k = piece_at(tl.program_id(0), GROUP, BLOCK_K)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row = tl.cast(n % N, tl.int64)[:, None]
    byte = tl.cast(first_k // 2, tl.int64) + tl.arange(0, BLOCK_K // 2)[None, :]
    b_ptrs = b_ptr + row * stride_bn + byte * stride_bk
    pairs = load_pairs(b_ptrs, first_k, K, GROUP, BLOCK_K)
    scales = tl.load(scales_ptr + group * stride_sg + row * stride_sn).to(tl.float32)
    zeros = tl.load(zeros_ptr + group * stride_sg + row * stride_sn)
    even, odd = shifted(pairs, zeros, tl.float32)
    weights = tl.join(even * scales, odd * scales).reshape(BLOCK_N, BLOCK_K)
    k = first_k + tl.arange(0, BLOCK_K)[None, :]
    at = tl.cast(n, tl.int64)[:, None] * K + k
    is_weight = (n < N)[:, None] & (k // GROUP == group)
    tl.store(dense_ptr + at, weights.to(dense_ptr.dtype.element_ty), mask=is_weight)
