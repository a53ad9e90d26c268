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
    """Addresses are clamped instead of masked, and what lies beyond K is replaced by 0."""
    n = tl.minimum(tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N), N - 1)
    m = tl.program_id(1)
    acc = tl.zeros((BLOCK_N,), tl.float32)
    for first in range(0, K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        near = tl.minimum(k, K - 1)
        x = tl.load(x_ptr + m * stride_m + near).to(tl.float32)
        W = tl.load(W_ptr + n[:, None] * stride_n + near[None, :] * stride_k).to(tl.float32)
        acc += tl.sum(tl.where(k[None, :] < K, W * x[None, :], 0.0), axis=1)
    tl.store(y_ptr + m * N + n, acc)
