import triton.language as tl


def dense_gemv(
    x_ptr,
    W_ptr,
    y_ptr,
    N,
    K,
    stride_m,
    stride_n,
    stride_k,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1)
    acc = tl.zeros((BLOCK_N,), tl.float32)
    for first in range(0, K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m * stride_m + k, mask=k < K, other=0).to(tl.float32)
        at = n[:, None] * stride_n + k[None, :] * stride_k
        inside = (n[:, None] < N) & (k[None, :] < K)
        W = tl.load(W_ptr + at, mask=inside, other=0).to(tl.float32)
        acc += tl.sum(W * x[None, :], axis=1)
    tl.store(y_ptr + m * N + n, acc, mask=n < N)
