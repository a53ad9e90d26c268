"""Activations as codes, with a scale for each token: x ~ x_q * scales.

A token is a row of x: what lies along its last axis, K, is multiplied and added up by a layer. So
one factor for all of a token can be taken out of that sum, and one for each k cannot.
"""

import torch

from gemlite_edu.numbers.checks import check_no_grad
from gemlite_edu.numbers.dtypes import FLOAT8

_INT8_MAX = 127
_SMALLEST_SCALE = 2.0**-126  # float32 below it has fewer than 24 bits
_SMALLEST_REACH = 1e-5  # BitNet's
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def scale_activations_int8(x):
    """Codes and scales of each token of `x`, int8: (x_q, scales).

    x: (..., K), float16, bfloat16 or float32; a token is what lies along the last axis.
    x_q: the shape of x, int8, contiguous: x / scale, rounded half to even, from -127 to 127.
    scales: (M, 1) float32, M tokens: the largest |x| of the token over 127, but at least 2**-126; 1
        for a token of zeros.

    |x - x_q scale| <= scale / 2 + 2**-24 |x|: half a step, and what the division rounds away.
    A token with a NaN or an infinity has the scale NaN or infinity, and all its codes are 0:
    x_q scale is NaN, and so is whatever is computed of it.
    No gradient passes. Works under `torch.compile(fullgraph=True)` and on meta tensors.

    Raises TypeError for another type, ValueError without a last axis of at least 1.
    Source: a scale for each token as it comes: Yao et al. 2022 (ZeroQuant), arXiv 2206.01861.

    >>> x_q, scales = scale_activations_int8(torch.tensor([[0.25, -1.0, 0.125], [0.0, 254.0, 3.0]]))
    >>> x_q.tolist(), [f"{scale:.4f}" for scale in scales.flatten()]
    ([[32, -127, 16], [0, 127, 2]], ['0.0079', '2.0000'])
    """
    values, scales = _in_steps(x, _INT8_MAX)
    return values.round().nan_to_num(nan=0.0).to(torch.int8).reshape(x.shape), scales


def quantize_activations_int8(x):
    """Codes and scales of each token of `x` by BitNet's formula: (x_q, token_scales).

    x: (..., K), float16, bfloat16 or float32. x_q: the shape of x, int8: x * s, rounded half to
    even, with s = 127 / max |x| of the token, which counts as at least 1e-5. All in float32; where
    BitNet's code computes in bfloat16, some of its codes are one off these.
    token_scales: (M, 1) float32, M tokens: 1 / s, what a step of the codes is worth.

    `scale_activations_int8` is the same but for its rounding, x / scale, and for tokens smaller
    than 1e-5, which it does not round to fewer steps. A token with a NaN or an infinity has the
    scale NaN or infinity, and all its codes are 0. No gradient passes.
    Raises TypeError for another type, ValueError without a last axis of at least 1.
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


def scale_activations_fp8(x, dtype=torch.float8_e4m3fn):
    """Codes and scales of each token of `x`, 8-bit floats: (x_q, scales).

    x: (..., K), float16, bfloat16 or float32; a token is what lies along the last axis.
    dtype: torch.float8_e4m3fn, largest number 448, or torch.float8_e5m2, 57344.
    x_q: the shape of x, `dtype`, contiguous: x / scale, rounded half to even; never infinite.
    scales: (M, 1) float32, M tokens: the largest |x| of the token over the largest number of dtype,
        but at least 2**-126; 1 for a token of zeros.

    |x - x_q scale| <= max(2**-4 |x|, 2**-10 scale), e5m2: max(2**-3 |x|, 2**-17 scale), and 2**-24
    |x| for the division: half a step of the format, whose steps grow with |x|.
    A token with a NaN has the scale NaN, and all of it is NaN; one with an infinity has the scale
    infinity, and x_q scale is NaN. No gradient passes. Works under
    `torch.compile(fullgraph=True)` and on meta tensors.

    Raises TypeError for another type, ValueError without a last axis of at least 1.
    Source: Micikevicius et al. 2022, FP8 formats for deep learning, arXiv 2209.05433.

    >>> x_q, scales = scale_activations_fp8(torch.tensor([[2.0, -448.0, 0.3]]))
    >>> x_q.tolist(), scales.item()
    ([[2.0, -448.0, 0.3125]], 1.0)
    """
    if dtype not in FLOAT8:
        raise TypeError(f"dtype must be torch.float8_e4m3fn or torch.float8_e5m2, got {dtype}")
    values, scales = _in_steps(x, torch.finfo(dtype).max)
    return values.to(dtype).reshape(x.shape), scales


def _in_steps(x, largest):
    """x / scale (M, K), float32, which rounds to `largest` at most, or NaN; and scales (M, 1)."""
    _check(x)
    tokens = x.detach().reshape(-1, x.shape[-1]).contiguous().float()
    reach = tokens.abs().amax(1, keepdim=True)
    scales = (reach / largest).clamp(min=_SMALLEST_SCALE).masked_fill(reach == 0, 1)
    return tokens / scales, scales


def _check(x):
    if not isinstance(x, torch.Tensor) or x.dtype not in _DTYPES:
        came = f"{x.dtype} tensor" if isinstance(x, torch.Tensor) else type(x).__name__
        raise TypeError(f"x must be a float16, bfloat16 or float32 tensor, got {came}")
    if x.dim() == 0 or x.shape[-1] == 0:
        raise ValueError(f"x must have shape (..., K) with K >= 1, got {tuple(x.shape)}")


def scaled_activations_of(returned, x):
    """(x, token scales) that a `scale_activations` returned for x."""
    is_pair = isinstance(returned, tuple | list) and len(returned) == 2
    if not is_pair or not isinstance(returned[0], torch.Tensor):
        raise ValueError("scale_activations must return two things: x, and its scales")
    if returned[0].shape != x.shape or returned[0].device != x.device:
        came = f"{tuple(returned[0].shape)} on {returned[0].device}"
        raise ValueError(f"scale_activations must return x as {tuple(x.shape)}, got {came}")
    for tensor in filter(torch.is_tensor, returned):
        check_no_grad("what scale_activations returns", tensor)
    return returned


def token_scales_of(token_scales, M, device):
    """Scales of activations as float32 (M,); one alone is for every row; None stays None."""
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
