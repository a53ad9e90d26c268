import triton.language as tl


def splitk_group(
    x_ptr,
    W_ptr,
    scales_ptr,
    zeros_ptr,
    partial_ptr,
    M,
    N,
    K,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    chunk = tl.program_id(2)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    row, token = n % N, m % M
    tiles = tl.cdiv(K, BLOCK_K)
    tiles_of_a_chunk = tl.cdiv(tiles, tl.num_programs(2))
    first = chunk * tiles_of_a_chunk * BLOCK_K
    last = min(first + tiles_of_a_chunk * BLOCK_K, K)

    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for start in range(first, last, 16):
        k = start + tl.arange(0, 16)
        x = tl.load(x_ptr + token[None, :] * K + k[:, None], mask=(k < K)[:, None], other=0.0)
        codes = tl.load(W_ptr + row[:, None] * K + (k % K)[None, :])
        group_index = start // GROUP
        scales = tl.load(scales_ptr + group_index * N + row)[:, None]
        zeros = tl.load(zeros_ptr + group_index * N + row)[:, None]
        sum_x = x.to(tl.float32).sum(axis=0)[None, :]
        acc += (tl.dot(codes.to(tl.float16), x) - zeros * sum_x) * scales

    at = (chunk * M + m[None, :]) * N + n[:, None]
    tl.store(partial_ptr + at, acc, mask=(m < M)[None, :] & (n < N)[:, None])
