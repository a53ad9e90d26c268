"""The second pass of a sum over K that programs split: it adds the chunks in a fixed order.

Grid (M * N / BLOCK). partial (CHUNKS, M, N) float32 or int32; y (M, N). channel_scales, bias (N,)
and token_scales (M,) may be None.
"""

import triton
import triton.language as tl

from .finish import finished


@triton.jit
def add_chunks(
    partial_ptr,
    channel_scales_ptr,
    token_scales_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    CHUNKS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    m = tl.program_id(0) % M
    n = tl.program_id(0) // M * BLOCK + tl.arange(0, BLOCK)
    row = n % N  # outputs beyond N read others again, and are not stored
    y_row, chunk_stride = tl.cast(m, tl.int64) * N, tl.cast(M, tl.int64) * N
    sums = tl.zeros((BLOCK,), partial_ptr.dtype.element_ty)
    for chunk in tl.static_range(CHUNKS):
        sums += tl.load(partial_ptr + chunk * chunk_stride + y_row + row)
    y = finished(sums, channel_scales_ptr, row, token_scales_ptr, m, bias_ptr)
    tl.store(y_ptr + y_row + n, y.to(y_ptr.dtype.element_ty), mask=n < N)
