"""The last steps on a sum over all of K, in the GEMM and after adding the others' chunks."""

import triton
import triton.language as tl


@triton.jit
def finished(sums, channel_scales_ptr, n, token_scales_ptr, m, bias_ptr):
    """`sums` times the scale of their channel n and of their token m, plus the bias of n.

    n, m: index tensors that broadcast to sums. A pointer that is None: no such factor or term.
    """
    if channel_scales_ptr is not None:
        sums = sums * tl.load(channel_scales_ptr + n).to(tl.float32)
    if token_scales_ptr is not None:
        sums = sums * tl.load(token_scales_ptr + m).to(tl.float32)
    if bias_ptr is not None:
        sums = sums + tl.load(bias_ptr + n).to(tl.float32)
    return sums
