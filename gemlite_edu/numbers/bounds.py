"""How far an honest kernel may be off its oracle."""

import torch

from gemlite_edu.numbers.reference import matmul

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


def tensor_core_error_bound(
    product, out_dtype, *, compute_dtype, fused_dtype=None, fp16_run=None, code_shift=0
):
    """Largest error of an honest kernel on tensor cores for a `ScaledProduct`; (M, N) float64.

    compute_dtype: the type c of a tensor core's operands, fp16 or bf16, of roundoff v and smallest
    step t; or int8, whose sums are exact.

    A weight of value w = q - z is made in c: z is rounded to z', then q - z' once more, so it is
    off by e = |z' - z| + v |q - z'| + t / 2; by nothing if c holds both. (Through float32, v grows
    by 2**-24.) With `code_shift` h, 8 for signed codes that the kernel makes unsigned, it is
    (q + h) - z', and z' is z + h rounded to float32 and then to c. With `fused_dtype`, the type in
    which -z s is kept from `pack` on, w = q s - z s is one multiply-add of numbers rounded to c,
    and its product and its sum are each rounded.

    A product of two numbers of c is exact in fp32. A tensor core aligns 8 or more of them, and the
    sum so far, with the largest, cuts off what lies below its 24 bits, and cuts the result again:
    each of the 8 + 1 addends and the result lose at most u = 2**-23 of the largest (Fasi, Higham,
    Mikaitis and Pranesh 2021, Numerical behavior of NVIDIA tensor cores; newer ones keep more bits
    and take more addends at once). That is 10 u for every 8 products. The scale is one rounding; a
    plane of 16 products is added to the sum over K at most once, and its chunk at most once to the
    others. So n = K (10 / 8 + 2 / 16) + 2 < 3 K / 2 + 4 roundings are an upper limit, and

        |sum - exact| <= sum |x| e |s| + g * sum |x| (|w| + e) |s|,   g = n u / (1 - n u)

    Zeros that fill up a tile lose nothing. So r products of a group that begin anywhere, in at most
    r / 8 + 2 times 8, lose r + 2 (r / 8 + 2), and K / r such sums are scaled and added: no more
    than 3 K / 2 + 4 and the two that the finish has in hand below, for any r from 1 to K.

    fp16_run: that many products are added up in fp16 before fp32 takes over; None: none are. Every
    8 of them cut off 2**-10 of the sum, or 2**-24 where it is small: G / 8 times for a group of G,
    and 2 more for each of its runs. It must not overflow.

    Then an int32 sum as fp32, the scales of channel and token, and the bias are four roundings, and
    y is rounded to `out_dtype`. fp8 saturates: compare with the exact y clamped to its range. Other
    outputs beyond their range, and numbers below fp32's normal range, are not covered.
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


def scaled_weights_error_bound(product, out_dtype, *, compute_dtype, fp16_run=None, code_shift=0):
    """Like `tensor_core_error_bound`, for a kernel that scales the weights before the sum.

    s is rounded to s' in c, and (q - z') s', with e as there, is a weight once it is rounded too:

        e' = e |s| + (|w| + e) (|s' - s| + v |s'|) + t / 2

    by which it is off; by nothing if c holds every step. What follows has no scale, so n stays:

        |sum - exact| <= sum |x| e' + g * sum |x| (|w s| + e'),   g = n u / (1 - n u)

    fp16_run: as there, with runs that begin at multiples of their length: K / 8 + 1 times 2**-24.
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


def dequantized_error_bound(product, out_dtype, *, weight_dtype, code_shift=0):
    """Like `tensor_core_error_bound`, for dense weights and a library's product of them.

    w = (q - z) s takes two roundings of float32, u = 2**-24, three with `code_shift` h, and one to
    `weight_dtype`, of roundoff v and smallest step t. A weight is off by

        e' = u |z + h| |s|, if there is an h,   and   (v + 4 u) |w| + t / 2

    The library adds up as a tensor core does, or better; it may round parts of the sum, and their
    sum again, to `out_dtype` before y: three roundings in all.
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


def factored_error_bound(product, out_dtype, *, fused_dtype=None):
    """Like `tensor_core_error_bound`, for a kernel that adds up s (sum q x - z sum x) in fp32.

    Products q x are exact. A term passes at most K - 1 additions in whatever order, the product
    with z, the difference, and the scale; n = K + 3 roundings. The terms are those of both sums:

        |sum - exact| <= g * sum |x| (|q| + |z|) |s|,   g = n u / (1 - n u),   u = 2**-24

    and with `fused_dtype` the error of -z s, times |x|, more.
    """
    codes, zeros, scales = product.parts
    x, K = product.x.double().abs(), codes.shape[1]
    off = torch.zeros_like(codes)
    if fused_dtype is not None:
        off = (_rounded(zeros * scales, fused_dtype) - zeros * scales).abs()
    reached = matmul(x, (codes.abs() + zeros.abs()) * scales.abs() + off)
    error = matmul(x, off) + growth(K + 3, FP32_ROUNDOFF) * reached
    return _finished(product, error, reached, out_dtype)


def parts_error_bound(product, out_dtype, *, part, offset=0):
    """Like `tensor_core_error_bound`, for gemv_a16wn_fast: a scale for `part` products at a time.

    Codes have an offset of at most o on them, so that of each part fp32 adds up

        s * (sum (q + o) x - sum o x - z sum x)

    A tensor core's products are exact, as there, and a part loses 5 / 4 part + 4 times u = 2**-23
    of them. The sums of o x and of x are fp32's: part roundings at most, with their product. Two
    differences and the scale are three more; K / part shares are added up, then those of 32 warps.
    So n = 3 part / 2 + K / part + 40 roundings are an upper limit, and

        |sum - exact| <= g * sum |x| (|q| + 2 o + |z|) |s|,   g = n u / (1 - n u)

    bf16 x becomes fp16, times a power of two that brings its largest to 2**14 at least: where that
    is subnormal it loses half a step, 2**-25, and so at most 2**-39 of the largest x.
    """
    codes, zeros, scales = product.parts
    x, K = product.x.double().abs().cpu(), codes.shape[1]
    terms = (codes.abs() + 2 * offset + zeros.abs()) * scales.abs()
    roundings = 1.5 * part + K / part + 40
    lost = 2.0**-39 * x.amax(1, keepdim=True) if product.x.dtype == torch.bfloat16 else 0.0
    reached = matmul(x + lost, terms)
    error = growth(roundings, TRUNCATION) * reached + matmul(lost + 0 * x, terms)
    return _finished(product, error, reached, out_dtype)


def _finished(product, error, reached, out_dtype):
    """The error of y, from that of sums over K whose terms add up to at most `reached`."""
    factors, bias = product.factors().abs(), product.bias_or_zero().abs()
    steps = growth(4, FP32_ROUNDOFF) * ((reached + error) * factors + bias)
    accumulated = error * factors + steps
    largest = product.exact().abs() + accumulated
    if out_dtype in _SATURATING:
        largest = largest.clamp(max=torch.finfo(out_dtype).max)
    return accumulated + output_rounding(largest, out_dtype)


def _shift_error(codes, zeros, dtype, code_shift=0):
    """How far q - z is off if it is computed in `dtype`, with both raised by `code_shift`."""
    codes, zeros = codes + code_shift, zeros + code_shift
    near = _rounded(_rounded(zeros, torch.float32) if code_shift else zeros, dtype)
    exact = (near == zeros) & (_rounded(codes - near, dtype) == codes - near)
    v, t = OUTPUT_ROUNDOFF[dtype] + FP32_ROUNDOFF, SMALLEST_STEP[dtype]
    off = (near - zeros).abs() + v * (codes - near).abs() + t / 2
    return torch.where(exact, 0.0, off)


def _scaled_error(codes, zeros, scales, dtype, code_shift):
    """How far (q - z) s is off if every step of it is rounded to `dtype`."""
    difference, scale = codes - zeros, _rounded(scales, dtype)
    shift_off, product = _shift_error(codes, zeros, dtype, code_shift), difference * scale
    exact = (shift_off == 0) & (scale == scales) & (_rounded(product, dtype) == product)
    v, t = OUTPUT_ROUNDOFF[dtype] + FP32_ROUNDOFF, SMALLEST_STEP[dtype]
    off = shift_off * scales.abs() + t / 2
    off += (difference.abs() + shift_off) * ((scale - scales).abs() + v * scale.abs())
    return torch.where(exact, 0.0, off)


def _fused_error(codes, zeros, scales, dtype, fused_dtype):
    """How far q s - z s is off, in `dtype`, if -z s was kept in `fused_dtype`."""
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


def _rounded(values, dtype):
    return values.to(dtype).double()


def growth(n, roundoff):
    """Largest relative error of n roundings (Higham, lemma 3.1)."""
    return n * roundoff / (1 - n * roundoff)


def output_rounding(largest, out_dtype):
    """What rounding numbers up to `largest` to `out_dtype` costs at most."""
    if out_dtype not in OUTPUT_ROUNDOFF:
        raise ValueError(f"out_dtype must be one of {list(OUTPUT_ROUNDOFF)}, got {out_dtype}")
    return OUTPUT_ROUNDOFF[out_dtype] * largest + SMALLEST_STEP[out_dtype] / 2
