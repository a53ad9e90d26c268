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

    k = first_k + tl.arange(0, BLOCK_K)
    y = tl.zeros((BLOCK_M, BLOCK_K), tl.float32)
    for tile in range(first, last):
        n = tile * BLOCK_N + tl.arange(0, BLOCK_N)
        row = tl.minimum(n, N - 1)
        x = tl.load(x_ptr + token[:, None] * N + row[None, :])
        x = tl.where((n < N)[None, :], x, 0.0)
        pairs = tl.load(b_ptr + row[:, None] * stride_bn + (k // 2)[None, :] * stride_bk)
        codes = (pairs.to(tl.int32) >> (4 * (k % 2))[None, :]) & 15
        if b_ptr.dtype.element_ty == tl.int8:
            codes = (codes ^ 8) - 8
        at = (k // GROUP)[None, :] * stride_sg + row[:, None] * stride_sn
        scales, zeros = tl.load(scales_ptr + at), tl.load(zeros_ptr + at)
        weights = (codes.to(tl.float32) - zeros) * scales
        y += tl.dot(x.to(DTYPE), weights.to(DTYPE))

    k = first_k + tl.arange(0, BLOCK_K)
    at = (chunk * M + m[:, None]) * K + k[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=(m < M)[:, None])
