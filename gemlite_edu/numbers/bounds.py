"""Bounds on the error of a correct kernel against its oracle."""

import torch

from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.numbers.reference import ScaledProduct, matmul

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
TRUNCATION = 2.0**-23
FP16_TRUNCATION = 2.0**-10
_SATURATING = (torch.float8_e4m3fn, torch.float8_e5m2)


def error_bound(x: torch.Tensor, W: torch.Tensor, out_dtype: torch.dtype) -> torch.Tensor:
    """Largest error of each output of a correct kernel that accumulates in fp32; (M, N) float64.

    The kernel computes fl(sum_k (q_k - z) x_k) * s and rounds it to `out_dtype`. With
    u = 2**-24, each of the K terms passes through the subtraction (1 rounding), the product (1),
    at most K - 1 additions in any order, and the scale (1). That is at most n = K + 2 roundings,
    each a factor (1 + d), |d| <= u. So (Higham, Accuracy and Stability, lemma 3.1)

        |y_fp32 - y| <= g * sum_k |x_k| |W_k|,   g = n u / (1 - n u)

    and rounding to `out_dtype`, with roundoff v and smallest step t, adds v |y_fp32| + t / 2.
    Half-precision x converts to fp32 without error. The bound does not cover outputs beyond the
    range of `out_dtype`, nor products below fp32's normal range (1.2e-38).
    """
    accumulated = growth(x.shape[1] + 2, FP32_ROUNDOFF) * matmul(x.abs(), W.abs())
    return accumulated + output_rounding(matmul(x, W).abs() + accumulated, out_dtype)


def half2_error_bound(x: torch.Tensor, q: QuantizedWeight, out_dtype: torch.dtype) -> torch.Tensor:
    """Like `error_bound`, for gemv_a16wn_half2 on a `QuantizedWeight` q; (M, N) float64.

    v = 2**-11 and t = 2**-24 are the roundoff and the smallest step of fp16; d is the power of two
    by which the kernel scales weights down. The kernel rounds z to z', then computes a code's value
    (q - z) d with one multiply-add, which rounds once. One half of a half2 adds up T products, and
    each addition rounds once. So, with g = (T+1) v / (1 - (T+1) v), the error of a word's products
    is at most

        g * sum |x| |q - z| + (1 + g) * sum (|x| |z' - z| + (|x| + 1) t / 2d)

    where the terms with t cover results below fp16's normal range. The remaining steps, in fp32,
    round at most K + 3 times. Nothing overflows if x is finite and every zero is between 0 and the
    top code; for other zeros the bound holds if nothing overflows.
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


def tensor_core_error_bound(
    product: ScaledProduct,
    out_dtype: torch.dtype,
    *,
    compute_dtype: torch.dtype,
    fused_dtype: torch.dtype | None = None,
    fp16_run: int | None = None,
    code_shift: int = 0,
) -> torch.Tensor:
    """Largest error of a correct tensor-core kernel for a `ScaledProduct`; (M, N) float64.

    compute_dtype: the dtype c of the tensor core's operands, fp16 or bf16, with roundoff v and
    smallest step t; or int8, whose sums are exact.

    The kernel computes a weight w = q - z in c: it rounds z to z', then q - z', so the error is
    e = |z' - z| + v |q - z'| + t / 2, or 0 if c represents both exactly. (Through float32, v grows
    by 2**-24.) With `code_shift` h, which is 8 for signed codes that the kernel makes unsigned, it
    computes (q + h) - z', where z' is z + h rounded to float32 and then to c. With `fused_dtype`,
    the dtype in which `pack` stores -z s, it computes w = q s - z s with one multiply-add of
    numbers rounded to c, which rounds the product and the sum.

    A product of two numbers of c is exact in fp32. A tensor core aligns 8 or more products, and the
    sum so far, with the largest of them, cuts off the bits below its 24, and cuts the result again.
    Each of the 8 + 1 addends and the result lose at most u = 2**-23 of the largest (Fasi, Higham,
    Mikaitis and Pranesh 2021, Numerical behavior of NVIDIA tensor cores; newer ones keep more bits
    and take more addends at once). That is 10 u for every 8 products. The scale costs one rounding;
    the kernel adds a plane of 16 products to the sum over K at most once, and a chunk to the other
    chunks at most once. So there are at most n = K (10 / 8 + 2 / 16) + 2 < 3 K / 2 + 4 roundings,
    and

        |sum - exact| <= sum |x| e |s| + g * sum |x| (|w| + e) |s|,   g = n u / (1 - n u)

    Zeros that fill up a tile lose nothing. A group of r products may begin anywhere, so it takes at
    most r / 8 + 2 steps of 8 and loses r + 2 (r / 8 + 2). The kernel scales and adds K / r such
    sums, which costs no more than 3 K / 2 + 4 plus the two roundings that the last steps below have
    to spare, for any r from 1 to K.

    fp16_run: the number of products that are added in fp16 before fp32 takes over; None: fp32 adds
    all. Every 8 of them cut off 2**-10 of the sum, or 2**-24 if the sum is small: G / 8 times for a
    group of G, and 2 more times for each of its runs. The fp16 sum must not overflow.

    At the end, four roundings convert an int32 sum to fp32, apply the channel and token scales, and
    add the bias; then y is rounded to `out_dtype`. fp8 saturates, so compare with the exact y
    clamped to its range. The bound does not cover other outputs beyond their range, nor numbers
    below fp32's normal range.
    """
    codes, zeros, scales = product.parts
    if compute_dtype == torch.int8:
        return _finished(product, 0.0, matmul(product.x.double().abs(), codes.abs()), out_dtype)
    if fused_dtype is None:
        off = _shift_error(codes, zeros, compute_dtype, code_shift) * scales.abs()
    else:
        off = _fused_error(codes, zeros, scales, compute_dtype, fused_dtype)
    x, K = product.x.double().abs(), codes.shape[1]
    reached = matmul(x, ((codes - zeros) * scales).abs() + off)
    error = matmul(x, off) + growth(1.5 * K + 4, TRUNCATION) * reached
    if fp16_run is not None:
        group = K // (1 if product.scales is None else product.scales.shape[1])
        cuts = 1 / 8 + 2 * (group // fp16_run + 2) / group  # for each product
        lost_steps = scales.abs().sum(1) * cuts * SMALLEST_STEP[torch.float16]
        error += growth(fp16_run / 8 + 1, FP16_TRUNCATION) * reached + lost_steps
    return _finished(product, error, reached, out_dtype)


def scaled_weights_error_bound(
    product: ScaledProduct,
    out_dtype: torch.dtype,
    *,
    compute_dtype: torch.dtype,
    fp16_run: int | None = None,
    code_shift: int = 0,
) -> torch.Tensor:
    """Like `tensor_core_error_bound`, for a kernel that scales the weights before the sum.

    The kernel rounds s to s' in c, then rounds (q - z') s' to the weight. With e as there, a weight
    has the error

        e' = e |s| + (|w| + e) (|s' - s| + v |s'|) + t / 2

    or 0 if c represents every step exactly. The sum needs no scale, so n stays the same:

        |sum - exact| <= sum |x| e' + g * sum |x| (|w s| + e'),   g = n u / (1 - n u)

    fp16_run: as there, but runs begin at multiples of their length: K / 8 + 1 times 2**-24.
    """
    codes, zeros, scales = product.parts
    off = _scaled_error(codes, zeros, scales, compute_dtype, code_shift)
    x, K = product.x.double().abs(), codes.shape[1]
    reached = matmul(x, ((codes - zeros) * scales).abs() + off)
    error = matmul(x, off) + growth(1.5 * K + 4, TRUNCATION) * reached
    if fp16_run is not None:
        error += growth(fp16_run / 8 + 1, FP16_TRUNCATION) * reached
        error += (K / 8 + 1) * SMALLEST_STEP[torch.float16]
    return _finished(product, error, reached, out_dtype)


def dequantized_error_bound(
    product: ScaledProduct,
    out_dtype: torch.dtype,
    *,
    weight_dtype: torch.dtype,
    code_shift: int = 0,
) -> torch.Tensor:
    """Like `tensor_core_error_bound`, for dense weights that a library multiplies.

    Computing w = (q - z) s takes two float32 roundings, u = 2**-24, or three with `code_shift` h,
    and one to `weight_dtype`, with roundoff v and smallest step t. The error of a weight is

        e' = u |z + h| |s|, if there is an h,   plus   (v + 4 u) |w| + t / 2

    The library accumulates like a tensor core, or better. It may round parts of the sum, and their
    sum, to `out_dtype` before it rounds y: three roundings in all.
    """
    codes, zeros, scales = product.parts
    W, x = ((codes - zeros) * scales).abs(), product.x.double().abs()
    v, t = OUTPUT_ROUNDOFF[weight_dtype], SMALLEST_STEP[weight_dtype]
    shifted = FP32_ROUNDOFF * ((zeros + code_shift) * scales).abs() if code_shift else 0.0
    off = shifted + (v + 4 * FP32_ROUNDOFF) * (W + shifted) + t / 2
    reached = matmul(x, W + off)
    error = matmul(x, off) + growth(1.5 * codes.shape[1] + 4, TRUNCATION) * reached
    error += 2 * output_rounding(reached + error, out_dtype)
    return _finished(product, error, reached, out_dtype)


def factored_error_bound(
    product: ScaledProduct, out_dtype: torch.dtype, *, fused_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Like `tensor_core_error_bound`, for a kernel that computes s (sum q x - z sum x) in fp32.

    The products q x are exact. A term passes through at most K - 1 additions in any order, the
    product with z, the difference, and the scale: n = K + 3 roundings. Over the terms of both sums:

        |sum - exact| <= g * sum |x| (|q| + |z|) |s|,   g = n u / (1 - n u),   u = 2**-24

    `fused_dtype` adds the error of -z s, times |x|.
    """
    codes, zeros, scales = product.parts
    x, K = product.x.double().abs(), codes.shape[1]
    off = torch.zeros_like(codes)
    if fused_dtype is not None:
        off = (_rounded(zeros * scales, fused_dtype) - zeros * scales).abs()
    reached = matmul(x, (codes.abs() + zeros.abs()) * scales.abs() + off)
    error = matmul(x, off) + growth(K + 3, FP32_ROUNDOFF) * reached
    return _finished(product, error, reached, out_dtype)


def parts_error_bound(
    product: ScaledProduct, out_dtype: torch.dtype, *, part: int, offset: int = 0
) -> torch.Tensor:
    """Like `tensor_core_error_bound`, for gemv_a16wn_fast, which scales `part` products at a time.

    The codes carry an offset of at most o, so for each part fp32 computes

        s * (sum (q + o) x - sum o x - z sum x)

    The tensor core's products are exact, as there, and the sum of a part loses at most
    5 / 4 part + 4 times u = 2**-23. The sums of o x and of x are made in fp32, with at most `part`
    roundings including their product. Two differences and the scale add three; then K / part parts
    are added, and the sums of 32 warps. So there are at most n = 3 part / 2 + K / part + 40
    roundings, and

        |sum - exact| <= g * sum |x| (|q| + 2 o + |z|) |s|,   g = n u / (1 - n u)

    The kernel converts bf16 x to fp16 after multiplying it by a power of two that brings the
    largest x to at least 2**14. An x that becomes subnormal loses half a step, 2**-25, which is at
    most 2**-39 of the largest x.
    """
    codes, zeros, scales = product.parts
    x, K = product.x.double().abs().cpu(), codes.shape[1]
    terms = (codes.abs() + 2 * offset + zeros.abs()) * scales.abs()
    roundings = 1.5 * part + K / part + 40
    lost = 2.0**-39 * x.amax(1, keepdim=True) if product.x.dtype == torch.bfloat16 else 0.0
    reached = matmul(x + lost, terms)
    error = growth(roundings, TRUNCATION) * reached + matmul(lost + 0 * x, terms)
    return _finished(product, error, reached, out_dtype)


def _finished(
    product: ScaledProduct,
    error: torch.Tensor | float,
    reached: torch.Tensor,
    out_dtype: torch.dtype,
) -> torch.Tensor:
    """The error of y, from the error of sums over K whose terms add up to at most `reached`."""
    factors, bias = product.factors().abs(), product.bias_or_zero().abs()
    steps = growth(4, FP32_ROUNDOFF) * ((reached + error) * factors + bias)
    accumulated = error * factors + steps
    largest = product.exact().abs() + accumulated
    if out_dtype in _SATURATING:
        largest = largest.clamp(max=torch.finfo(out_dtype).max)
    return accumulated + output_rounding(largest, out_dtype)


def _shift_error(
    codes: torch.Tensor, zeros: torch.Tensor, dtype: torch.dtype, code_shift: int = 0
) -> torch.Tensor:
    """The error of q - z if it is computed in `dtype`, with both shifted by `code_shift`."""
    codes, zeros = codes + code_shift, zeros + code_shift
    near = _rounded(_rounded(zeros, torch.float32) if code_shift else zeros, dtype)
    exact = (near == zeros) & (_rounded(codes - near, dtype) == codes - near)
    v, t = OUTPUT_ROUNDOFF[dtype] + FP32_ROUNDOFF, SMALLEST_STEP[dtype]
    off = (near - zeros).abs() + v * (codes - near).abs() + t / 2
    return torch.where(exact, 0.0, off)


def _scaled_error(
    codes: torch.Tensor,
    zeros: torch.Tensor,
    scales: torch.Tensor,
    dtype: torch.dtype,
    code_shift: int,
) -> torch.Tensor:
    """The error of (q - z) s if every step is rounded to `dtype`."""
    difference, scale = codes - zeros, _rounded(scales, dtype)
    shift_off, product = _shift_error(codes, zeros, dtype, code_shift), difference * scale
    exact = (shift_off == 0) & (scale == scales) & (_rounded(product, dtype) == product)
    v, t = OUTPUT_ROUNDOFF[dtype] + FP32_ROUNDOFF, SMALLEST_STEP[dtype]
    off = shift_off * scales.abs() + t / 2
    off += (difference.abs() + shift_off) * ((scale - scales).abs() + v * scale.abs())
    return torch.where(exact, 0.0, off)


def _fused_error(
    codes: torch.Tensor,
    zeros: torch.Tensor,
    scales: torch.Tensor,
    dtype: torch.dtype,
    fused_dtype: torch.dtype,
) -> torch.Tensor:
    """The error of q s - z s computed in `dtype`, if -z s is stored in `fused_dtype`."""
    kept = _rounded(-zeros * scales, fused_dtype)
    shift, scale = _rounded(kept, dtype), _rounded(scales, dtype)
    scaled = codes * scale
    exact = (shift == -zeros * scales) & (scale == scales) & (kept == shift)
    for value in (scaled, scaled + shift):
        exact &= _rounded(value, dtype) == value
    v, t = OUTPUT_ROUNDOFF[dtype] + FP32_ROUNDOFF, SMALLEST_STEP[dtype]
    off = codes.abs() * (scale - scales).abs()
    off += (kept + zeros * scales).abs() + (shift - kept).abs()
    product_off = v * scaled.abs() + t / 2
    off += product_off + v * ((scaled + shift).abs() + product_off) + t / 2
    return torch.where(exact, 0.0, off)


def _rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return values.to(dtype).double()


def growth(n: float, roundoff: float) -> float:
    """Largest relative error of n roundings (Higham, lemma 3.1)."""
    return n * roundoff / (1 - n * roundoff)


def output_rounding(largest: torch.Tensor, out_dtype: torch.dtype) -> torch.Tensor:
    """The largest error of rounding numbers up to `largest` to `out_dtype`."""
    if out_dtype not in OUTPUT_ROUNDOFF:
        raise ValueError(f"out_dtype must be one of {list(OUTPUT_ROUNDOFF)}, got {out_dtype}")
    return OUTPUT_ROUNDOFF[out_dtype] * largest + SMALLEST_STEP[out_dtype] / 2
