"""Quantize activations to codes with one scale per token: x ~ x_q * scales.

A token is a row of x, along its last axis, K. A layer multiplies a token by weights and sums over
K, so a scale per token factors out of the sum; a scale per k would not.
"""

import torch

from gemlite_edu.numbers.checks import check_no_grad
from gemlite_edu.numbers.dtypes import FLOAT8

_INT8_MAX = 127
_SMALLEST_SCALE = 2.0**-126  # smaller float32 numbers have fewer than 24 bits
_SMALLEST_REACH = 1e-5  # BitNet's
_SMALLEST_HALF_REACH = 2.0**-100
_EXPONENT_BITS = 0x7F800000  # of a float32
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def scale_activations_int8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize each token of `x` to int8: returns (x_q, scales).

    x: (..., K), float16, bfloat16 or float32; a token is a row along the last axis.
    x_q: the shape of x, int8, contiguous: x / scale, rounded half to even, from -127 to 127.
    scales: (M, 1) float32, M tokens: the largest |x| of the token over 127, but at least 2**-126; 1
        for a token of zeros.

    |x - x_q scale| <= scale / 2 + 2**-24 |x|: half a step, plus the rounding of the division.
    A token with a NaN or an infinity gets the scale NaN or infinity, and all its codes are 0, so
    x_q scale is NaN, and so is every result computed from it.
    No gradient passes. Works under `torch.compile(fullgraph=True)` and on meta tensors.

    Raises TypeError for another dtype, ValueError unless the last axis has at least 1 element.
    Source: a dynamic scale per token: Yao et al. 2022 (ZeroQuant), arXiv 2206.01861.

    >>> x_q, scales = scale_activations_int8(torch.tensor([[0.25, -1.0, 0.125], [0.0, 254.0, 3.0]]))
    >>> x_q.tolist(), [f"{scale:.4f}" for scale in scales.flatten()]
    ([[32, -127, 16], [0, 127, 2]], ['0.0079', '2.0000'])
    """
    values, scales = _in_steps(x, _INT8_MAX)
    return values.round().nan_to_num(nan=0.0).to(torch.int8).reshape(x.shape), scales


def quantize_activations_int8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize each token of `x` to int8 by BitNet's formula: returns (x_q, token_scales).

    x: (..., K), float16, bfloat16 or float32. x_q: the shape of x, int8: x * s, rounded half to
    even, with s = 127 / max |x| of the token; the maximum counts as at least 1e-5. Everything is
    computed in float32; BitNet's code computes in bfloat16, so some of its codes differ by one.
    token_scales: (M, 1) float32, M tokens: 1 / s, the value of one step of the codes.

    `scale_activations_int8` differs in two points: it rounds x / scale, and it does not give tokens
    smaller than 1e-5 fewer steps. A token with a NaN or an infinity gets the scale NaN or infinity,
    and all its codes are 0. No gradient passes.
    Raises TypeError for another dtype, ValueError unless the last axis has at least 1 element.
    Source: Ma et al. 2024 (BitNet b1.58), arXiv 2402.17764; microsoft/BitNet, gpu/model.py.

    >>> x_q, token_scales = quantize_activations_int8(torch.tensor([[0.25, -1.0, 0.125]]))
    >>> x_q.tolist(), f"{token_scales.item():.4f}"
    ([[32, -127, 16]], '0.0079')
    """
    _check(x)
    tokens = x.detach().reshape(-1, x.shape[-1]).contiguous().float()
    s = _INT8_MAX / tokens.abs().amax(1, keepdim=True).clamp(min=_SMALLEST_REACH)
    codes = (tokens * s).round().nan_to_num(nan=0.0).clamp(-_INT8_MAX - 1, _INT8_MAX)
    return codes.to(torch.int8).reshape(x.shape), 1 / s


def scale_activations_fp8(
    x: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize each token of `x` to 8-bit floats: returns (x_q, scales).

    x: (..., K), float16, bfloat16 or float32; a token is a row along the last axis.
    dtype: torch.float8_e4m3fn, with largest number 448, or torch.float8_e5m2, with 57344.
    x_q: the shape of x, `dtype`, contiguous: x / scale, rounded half to even; never infinite.
    scales: (M, 1) float32, M tokens: the largest |x| of the token over the largest number of dtype,
        but at least 2**-126; 1 for a token of zeros.

    |x - x_q scale| <= max(2**-4 |x|, 2**-10 scale), e5m2: max(2**-3 |x|, 2**-17 scale), which is
    half a step of the format, whose steps grow with |x|; the division adds 2**-24 |x|.
    A token with a NaN gets the scale NaN, and all its codes are NaN; a token with an infinity gets
    the scale infinity, and x_q scale is NaN. No gradient passes. Works under
    `torch.compile(fullgraph=True)` and on meta tensors.

    Raises TypeError for another dtype, ValueError unless the last axis has at least 1 element.
    Source: Micikevicius et al. 2022, FP8 formats for deep learning, arXiv 2209.05433.

    >>> x_q, scales = scale_activations_fp8(torch.tensor([[2.0, -448.0, 0.3]]))
    >>> x_q.tolist(), scales.item()
    ([[2.0, -448.0, 0.3125]], 1.0)
    """
    if dtype not in FLOAT8:
        raise TypeError(f"dtype must be torch.float8_e4m3fn or torch.float8_e5m2, got {dtype}")
    values, scales = _in_steps(x, torch.finfo(dtype).max)
    return values.to(dtype).reshape(x.shape), scales


def scale_activations_half(
    x: torch.Tensor, dtype: torch.dtype = torch.float16
) -> tuple[torch.Tensor, torch.Tensor]:
    """Convert each token of `x` to 16 bits, scaled by a power of two: returns (x_q, scales).

    x: (..., K), float16, bfloat16 or float32; a token is a row along the last axis.
    x_q: the shape of x, `dtype`, torch.float16 or torch.bfloat16, contiguous: x / scale.
    scales: (M, 1) float32, M tokens: powers of two that bring the largest |x| of a token to 2**14
        or more, below 2**15; 2**-114 for tokens whose largest |x| is below 2**-100.

    So a float32 token loses the digits beyond those of `dtype` and never its range: with float16,
    |x - x_q scale| <= 2**-11 |x| for all |x| from 2**-28 of the largest one on.
    A token with a NaN or an infinity gives NaN. No gradient passes. Works under
    `torch.compile(fullgraph=True)` and on meta tensors.
    Raises TypeError for another dtype, ValueError unless the last axis has at least 1 element.

    >>> x_q, scales = scale_activations_half(torch.tensor([[1e6, -3.0]]))
    >>> x_q.tolist(), scales.item()
    ([[31248.0, -0.09375]], 32.0)
    """
    _check(x)
    tokens = x.detach().reshape(-1, x.shape[-1]).contiguous().float()
    reach = tokens.abs().amax(1, keepdim=True).clamp(min=_SMALLEST_HALF_REACH)
    powers = (reach.view(torch.int32) & _EXPONENT_BITS).view(torch.float32)
    scales = powers * 2.0**-14
    return (tokens / scales).to(dtype).reshape(x.shape), scales


def _in_steps(x: torch.Tensor, largest: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(x / scale (M, K) float32, scales (M, 1)); the quotient rounds to at most `largest`."""
    _check(x)
    tokens = x.detach().reshape(-1, x.shape[-1]).contiguous().float()
    reach = tokens.abs().amax(1, keepdim=True)
    scales = (reach / largest).clamp(min=_SMALLEST_SCALE).masked_fill(reach == 0, 1)
    return tokens / scales, scales


def _check(x: object) -> None:
    if not isinstance(x, torch.Tensor) or x.dtype not in _DTYPES:
        came = f"{x.dtype} tensor" if isinstance(x, torch.Tensor) else type(x).__name__
        raise TypeError(f"x must be a float16, bfloat16 or float32 tensor, got {came}")
    if x.dim() == 0 or x.shape[-1] == 0:
        raise ValueError(f"x must have shape (..., K) with K >= 1, got {tuple(x.shape)}")


def scaled_activations_of(
    returned: tuple[torch.Tensor, torch.Tensor | None], x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Check and return the pair (x, token scales) that a `scale_activations` returned for x."""
    is_pair = isinstance(returned, tuple | list) and len(returned) == 2
    if not is_pair or not isinstance(returned[0], torch.Tensor):
        raise ValueError("scale_activations must return two things: x, and its scales")
    if returned[0].shape != x.shape or returned[0].device != x.device:
        came = f"{tuple(returned[0].shape)} on {returned[0].device}"
        raise ValueError(f"scale_activations must return x as {tuple(x.shape)}, got {came}")
    for tensor in filter(torch.is_tensor, returned):
        check_no_grad("what scale_activations returns", tensor)
    return returned


def token_scales_of(
    token_scales: torch.Tensor | None, M: int, device: torch.device
) -> torch.Tensor | None:
    """Activation scales as float32 (M,); a single scale serves every row; None stays None."""
    if token_scales is None:
        return None
    is_real = isinstance(token_scales, torch.Tensor) and not token_scales.is_complex()
    if not is_real or token_scales.numel() not in (1, M) or token_scales.device != device:
        is_tensor = isinstance(token_scales, torch.Tensor)
        came = tuple(token_scales.shape) if is_tensor else type(token_scales).__name__
        raise ValueError(
            f"scale_activations must return x and one scale for each of its {M} rows, got {came}"
        )
    return token_scales.reshape(-1).float().expand(M).contiguous()
