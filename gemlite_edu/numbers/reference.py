"""The oracle. It works in fp64 on dequantized weights and knows nothing of packing."""

import torch

FP32_ROUNDOFF = 2.0**-24
OUTPUT_ROUNDOFF = {
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float8_e4m3fn: 2.0**-4,
    torch.float8_e5m2: 2.0**-3,
}
SMALLEST_STEP = {
    torch.float32: 2.0**-149,
    torch.float16: 2.0**-24,
    torch.bfloat16: 2.0**-133,
    torch.float8_e4m3fn: 2.0**-9,
    torch.float8_e5m2: 2.0**-16,
}


def matmul(x, W):
    """`y = x Wᵀ` in fp64. x: (M, K), W: (N, K), any dtype; returns (M, N) float64."""
    return x.detach().double().cpu() @ W.detach().double().cpu().T


def error_bound(x, W, out_dtype):
    """Largest error an honest fp32-accumulating kernel can make, per output; (M, N) float64.

    The kernel computes fl(sum_k (q_k - z) x_k) * s and rounds it to `out_dtype`. With
    u = 2**-24, each of the K terms passes through: the subtraction (1 rounding), the product (1),
    at most K - 1 additions in whatever order, and the scale (1): at most n = K + 2 roundings,
    each a factor (1 + d), |d| <= u. So (Higham, Accuracy and Stability, lemma 3.1)

        |y_fp32 - y| <= g * sum_k |x_k| |W_k|,   g = n u / (1 - n u)

    and rounding to `out_dtype`, of roundoff v and smallest step t, adds v |y_fp32| + t / 2.
    Half-precision x converts to fp32 without error. Outputs beyond the range of `out_dtype` and
    products below fp32's normal range (1.2e-38) are not covered.
    """
    accumulated = growth(x.shape[1] + 2, FP32_ROUNDOFF) * matmul(x.abs(), W.abs())
    return accumulated + output_rounding(matmul(x, W).abs() + accumulated, out_dtype)


def half2_error_bound(x, q, out_dtype):
    """Like `error_bound`, for gemv_a16wn_half2 on a `QuantizedWeight` q; (M, N) float64.

    v = 2**-11 and t = 2**-24 are roundoff and smallest step of fp16, d is the power of two by
    which the kernel scales weights down. A code's value (q - z) d is one multiply-add, rounded
    once, after z was rounded to z'. Each of the T products that one half of a half2 adds up rounds
    the sum once more. So the products of a word are off by at most, with
    g = (T+1) v / (1 - (T+1) v),

        g * sum |x| |q - z| + (1 + g) * sum (|x| |z' - z| + (|x| + 1) t / 2d)

    where the terms with t are for results below fp16's normal range. What follows is in fp32, at
    most K + 3 roundings. It does not overflow if x is finite and every zero is between 0 and the
    top code; other zeros are covered as far as it does not.
    """
    scales, zeros = (
        tensor.double().cpu().repeat_interleave(x.shape[1] // tensor.shape[1], dim=1)
        for tensor in (q.scales.abs(), q.zeros)
    )
    v, t = OUTPUT_ROUNDOFF[torch.float16], SMALLEST_STEP[torch.float16]
    terms = 2 ** (-(-(32 // q.nbits) // 2) - 1).bit_length()
    down = 1 / (terms << q.nbits)
    g = growth(terms + 1, v)
    W = q.dequantize(torch.float64)
    off = ((zeros * down).half().double() / down - zeros).abs() + t / (2 * down)
    steps = scales.expand(W.shape).sum(1) * t / (2 * down)
    in_halves = g * matmul(x.abs(), W.abs())
    in_halves += (1 + g) * (matmul(x.abs(), (scales * off).expand(W.shape)) + steps)
    reached = matmul(x.abs(), W.abs()) + in_halves
    accumulated = in_halves + growth(x.shape[1] + 3, FP32_ROUNDOFF) * reached
    return accumulated + output_rounding(matmul(x, W).abs() + accumulated, out_dtype)


def growth(n, roundoff):
    """Largest relative error of n roundings (Higham, lemma 3.1)."""
    return n * roundoff / (1 - n * roundoff)


def output_rounding(largest, out_dtype):
    """What rounding numbers up to `largest` to `out_dtype` costs at most."""
    if out_dtype not in OUTPUT_ROUNDOFF:
        raise ValueError(f"out_dtype must be one of {list(OUTPUT_ROUNDOFF)}, got {out_dtype}")
    return OUTPUT_ROUNDOFF[out_dtype] * largest + SMALLEST_STEP[out_dtype] / 2
