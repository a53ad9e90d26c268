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
    """K along the first axis, pointers that move on, and k counted down."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    x_at = x_ptr + tl.program_id(1) * stride_m + k
    W_at = W_ptr + k[:, None] * stride_k + n[None, :] * stride_n
    y = tl.zeros((BLOCK_N,), dtype=tl.float32)
    left = K
    while left > 0:
        x = tl.load(x_at, mask=k < left, other=0)
        W = tl.load(W_at, mask=(k[:, None] < left) & (n[None, :] < N), other=0)
        y += tl.sum(x.to(tl.float32)[:, None] * W.to(tl.float32), axis=0)
        x_at += BLOCK_K
        W_at += BLOCK_K * stride_k
        left -= BLOCK_K
    tl.store(y_ptr + tl.program_id(1) * N + n, y, mask=n < N)
