"""y = x W^T for packed int4 weights and a large batch: the forward product of a layer.

Grid (N / BLOCK_N, M / BLOCK_M, chunks of K). W is the left operand, y^T = W x^T. Even and odd k are
terms of one sum: the kernel interleaves a tile's codes, multiplies them by x, and multiplies the
sum of each piece of a group by the scales of its rows.

x (M, K); b: bytes (K / 2, N) of two codes; scales, zeros: (K / GROUP, N); any strides;
y (chunks, M, N): with more than one, `add_chunks` adds them.
Source: torchao's triton_mixed_mm.
"""

import triton
import triton.language as tl

from .int4_pairs import load_pairs, piece_at, shifted


@triton.jit
def mixed_mm(
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
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    chunk = tl.cast(tl.program_id(2), tl.int64)
    row = tl.cast(n % N, tl.int64)[:, None]
    byte = tl.arange(0, BLOCK_K // 2)[None, :]
    b_ptrs = b_ptr + row * stride_bn + byte * stride_bk
    x_ptrs = x_ptr + tl.cast(m % M, tl.int64)[None, :] * K
    pieces = K // GROUP * tl.cdiv(GROUP, BLOCK_K)
    pieces_of_a_chunk = tl.cdiv(pieces, tl.num_programs(2))
    first = tl.program_id(2) * pieces_of_a_chunk

    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for piece in range(first, min(first + pieces_of_a_chunk, pieces)):
        group, first_k = piece_at(piece, GROUP, BLOCK_K)
        k = first_k + tl.arange(0, BLOCK_K)[:, None]
        piece_ptrs = b_ptrs + tl.cast(first_k // 2, tl.int64) * stride_bk
        pairs = load_pairs(piece_ptrs, first_k, K, GROUP, BLOCK_K)
        if GROUP % BLOCK_K == 0:
            x = tl.load(x_ptrs + k)
        else:
            x = tl.load(x_ptrs + k, mask=k // GROUP == group, other=0.0)
        scales = tl.load(scales_ptr + group * stride_sg + row * stride_sn)
        zeros = tl.load(zeros_ptr + group * stride_sg + row * stride_sn)
        even, odd = shifted(pairs, zeros, DTYPE)
        weights = tl.join(even, odd).reshape(BLOCK_N, BLOCK_K)
        products = tl.dot(weights, x.to(DTYPE), out_dtype=DOT_DTYPE)
        acc += products.to(tl.float32) * scales.to(tl.float32)

    at = chunk * M * N + tl.cast(m, tl.int64)[None, :] * N + n[:, None]
    is_y = (n < N)[:, None] & (m < M)[None, :]
    tl.store(y_ptr + at, acc.to(y_ptr.dtype.element_ty), mask=is_y)
