# diagnosis: only the scales take the new group, the zeros the old one
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
    first = chunk * tiles_of_a_chunk

    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for tile in range(min(tiles_of_a_chunk, tiles - first)):
        k = (first + tile) * BLOCK_K + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + token[None, :] * K + k[:, None], mask=(k < K)[:, None], other=0.0)
        k = k % K
        codes = tl.load(W_ptr + row[:, None] * K + k[None, :])
        group_index = tile * BLOCK_K // GROUP
        zeros = tl.load(zeros_ptr + group_index * N + row)[:, None]
        scales = tl.load(scales_ptr + (k // GROUP)[None, :] * N + row[:, None])
        weights = (codes.to(tl.float32) - zeros) * scales
        acc = tl.dot(weights.to(tl.float16), x, acc)

    at = (chunk * M + m[None, :]) * N + n[:, None]
    tl.store(partial_ptr + at, acc, mask=(m < M)[None, :] & (n < N)[:, None])
