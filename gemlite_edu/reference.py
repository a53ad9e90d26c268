"""Floor 0: the oracle. It works in fp64 on dequantized weights and knows nothing of packing."""

import torch

FP32_ROUNDOFF = 2.0**-24
OUTPUT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
SMALLEST_STEP = {torch.float32: 2.0**-149, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133}


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
    if out_dtype not in OUTPUT_ROUNDOFF:
        raise ValueError(f"out_dtype must be one of {list(OUTPUT_ROUNDOFF)}, got {out_dtype}")
    K = x.shape[1]
    n = K + 2
    growth = n * FP32_ROUNDOFF / (1 - n * FP32_ROUNDOFF)
    accumulated = growth * matmul(x.abs(), W.abs())
    rounded = OUTPUT_ROUNDOFF[out_dtype] * (matmul(x, W).abs() + accumulated)
    return accumulated + rounded + SMALLEST_STEP[out_dtype] / 2
