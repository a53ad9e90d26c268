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
    """One sum along K, at the end: the accumulator is a whole block of products."""
    m = tl.program_id(1)
    row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    column = tl.arange(0, BLOCK_K)
    products = tl.zeros((BLOCK_N, BLOCK_K), tl.float32)
    for tile in range(tl.cdiv(K, BLOCK_K)):
        k = tile * BLOCK_K + column
        W = tl.load(
            W_ptr + (row % N)[:, None] * stride_n + k[None, :] * stride_k,
            mask=k[None, :] < K,
            other=0.0,
        )
        x = tl.load(x_ptr + m * stride_m + k, mask=k < K, other=0.0)
        products += W.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(y_ptr + m * N + row, products.sum(axis=1), mask=row < N)
