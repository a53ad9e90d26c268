"""A tile of a GEMV: multiply by x and add up plane by plane, without tensor cores."""

import triton
import triton.language as tl

from .dequantize import plane_in_place, unit_of


@triton.jit
def planes_sum(
    products,
    sum_x,
    words,
    high_words,
    x_ptrs,
    FIRST: tl.constexpr,
    COUNT: tl.constexpr,
    NBITS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """`products` (BLOCK_N, DEPTH) and `sum_x` (DEPTH,) after COUNT planes more, from FIRST on.

    x_ptrs: to the x of the tile's plane 0.
    """
    for field in tl.static_range(FIRST, FIRST + COUNT):
        x = tl.load(x_ptrs + field * DEPTH, eviction_policy="evict_last").to(tl.float32)
        plane = plane_in_place(words, high_words, field, NBITS)
        products += plane * (x * unit_of(field, NBITS))[None, :]
        sum_x += x
    return products, sum_x


@triton.jit
def scaled(products, sum_x, scales_ptr, zeros_ptr, n, group_index, N, FMA: tl.constexpr):
    """Products of codes as products of weights: sum((q - z) x) s = s (sum(q x) - z sum(x)).

    FMA: zeros_ptr has -z s in place of z. A pointer that is None: no scales, or no zeros.
    """
    if scales_ptr is not None:
        scales = tl.load(scales_ptr + group_index * N + n).to(tl.float32)[:, None]
    if zeros_ptr is not None:
        zeros = tl.load(zeros_ptr + group_index * N + n).to(tl.float32)[:, None]
        if FMA:
            return products * scales + zeros * sum_x[None, :]
        products -= zeros * sum_x[None, :]
    return products if scales_ptr is None else products * scales


@triton.jit
def tile_sum(
    acc,
    words,
    high_words,
    x_ptrs,
    scales_ptr,
    zeros_ptr,
    n,
    tile,
    N,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
):
    """`acc` (BLOCK_N, DEPTH) with one tile more; its groups are planes in a row."""
    PLANES: tl.constexpr = FIELDS if GROUP is None or GROUP > FIELDS * DEPTH else GROUP // DEPTH
    for first in tl.static_range(0, FIELDS, PLANES):
        group_index = 0 if GROUP is None else (tile * FIELDS + first) * DEPTH // GROUP
        products, sum_x = planes_sum(
            tl.zeros(words.shape, tl.float32),
            tl.zeros((DEPTH,), tl.float32),
            words,
            high_words,
            x_ptrs + tile * FIELDS * DEPTH,
            first,
            PLANES,
            NBITS,
            DEPTH,
        )
        products = scaled(products, sum_x, scales_ptr, zeros_ptr, n, group_index, N, FMA)
        acc += products.to(acc.dtype)
    return acc
