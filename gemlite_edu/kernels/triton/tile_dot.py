"""A tile of a GEMM: planes of weights times x on tensor cores, y^T = W x^T."""

import triton
import triton.language as tl

from .dequantize import load_tile, plane_of


@triton.jit
def add_tile(
    acc,
    tile,
    x_ptrs,
    W_ptr,
    high_ptr,
    scales_ptr,
    zeros_ptr,
    words_at,
    n,
    N,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
    DTYPE: tl.constexpr,
    DOT_DTYPE: tl.constexpr,
):
    """`acc` (BLOCK_N, BLOCK_M) with one tile more.

    x_ptrs (DEPTH, BLOCK_M): to x^T at k = 0. Weights are q - z in `DTYPE`, products are added up in
    `DOT_DTYPE`, and the sum of a group's planes is multiplied by its scales in acc's type. FMA:
    weights are q s + z in `DTYPE`, with -z s in zeros_ptr.
    """
    PLANES: tl.constexpr = FIELDS if GROUP is None or GROUP > FIELDS * DEPTH else GROUP // DEPTH
    words, high_words = load_tile(
        W_ptr, high_ptr, tile * tl.cast(N, tl.int64) * DEPTH + words_at, NBITS
    )
    products = tl.zeros(acc.shape, DOT_DTYPE)
    for field in tl.static_range(FIELDS):
        if field % PLANES == 0:
            group_index = 0 if GROUP is None else (tile * FIELDS + field) * DEPTH // GROUP
            if scales_ptr is not None:
                scales = tl.load(scales_ptr + group_index * N + n)[:, None]
            if zeros_ptr is not None:
                zeros = tl.load(zeros_ptr + group_index * N + n)[:, None].to(DTYPE)
        weights = plane_of(words, high_words, field, NBITS, DTYPE)
        if FMA:
            weights = weights * scales.to(DTYPE) + zeros
        elif zeros_ptr is not None:
            weights = weights - zeros
        x = tl.load(x_ptrs + (tile * FIELDS + field) * DEPTH).to(DTYPE)
        products = tl.dot(weights, x, products, out_dtype=DOT_DTYPE)
        if (field + 1) % PLANES == 0:
            if scales_ptr is not None and not FMA:
                acc += products.to(acc.dtype) * scales.to(acc.dtype)
            else:
                acc += products.to(acc.dtype)
            products = tl.zeros(acc.shape, DOT_DTYPE)
    return acc
