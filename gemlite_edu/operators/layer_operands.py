"""What `GemLiteLinear` may be given; one sentence about anything else."""

import math
import numbers

import torch

from gemlite_edu.numbers.checks import check_no_grad
from gemlite_edu.packing.rows_cols import unpack_over_cols, unpack_over_rows

INT32_RULE = "output_dtype INT32 is for INT8 x without any scales or bias"
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_EXACT_IN_FLOAT32, _EXACT_IN_FLOAT16, _LARGEST_INT8 = 2**24, 2**11, 128


def check_tensor(name, value, devices=("cpu", "cuda")):
    """Raise unless `value` is a dense tensor on one of `devices` that needs no gradient here."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
    if value.layout != torch.strided or value.device.type not in devices:
        came = value.layout if value.layout != torch.strided else f"on {value.device}"
        raise TypeError(f"{name} must be a dense tensor on a CPU or CUDA device, got {came}")
    check_no_grad(name, value)


def is_int(value, smallest=1):
    """Whether `value` is an int, not a truth value, of at least `smallest`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= smallest


def codes_of(W_q, N, K, nbits):
    """Codes (N, K) of such codes, or of words of `packing.rows_cols`.

    Words over columns may be transposed, (words, N), as GemLite's Triton version keeps them.
    """
    if tuple(W_q.shape) == (N, K):
        return W_q
    codes_of_a_word = 8 * W_q.dtype.itemsize // nbits
    shape, words = tuple(W_q.shape), (-(-N // codes_of_a_word), -(-K // codes_of_a_word))
    if nbits == 3 or shape not in ((N, words[1]), (words[1], N), (words[0], K)):
        check_weight_shape(W_q, N, K)
    if N == K and shape == (words[0], K):
        raise ValueError(
            f"words {shape} of a square layer may be packed over rows, or over columns and "
            "transposed: give codes, of packing.unpack_over_rows or packing.unpack_over_cols"
        )
    if shape == (words[0], K):
        return unpack_over_rows(W_q, nbits, N)
    return unpack_over_cols(W_q if shape[0] == N else W_q.T.contiguous(), nbits, K)


def check_weight_shape(W, N, K):
    """Raise unless W is (N, K)."""
    if tuple(W.shape) != (N, K):
        raise ValueError(
            f"W_q must have shape (out_features, in_features) = ({N}, {K}), or be words of it, "
            f"got {tuple(W.shape)}"
        )


def per_group(name, value, N, groups, device):
    """Scales or zeros as (groups, N), or (1, N) where a channel has one; None stays None."""
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if math.isfinite(value) and abs(value) > torch.finfo(torch.float32).max:
            raise ValueError(f"{name} must fit in float32, got {value}")
        return torch.full((1, N), float(value), dtype=torch.float32, device=device)
    check_tensor(name, value)
    if not value.is_floating_point():
        raise TypeError(f"{name} must be a number or a floating-point tensor, got {value.dtype}")
    dtype = value.dtype if value.dtype in _FLOATS else torch.float32
    value, shape = value.to(device, dtype), tuple(value.shape)
    if value.numel() == 1:
        return value.reshape(1, 1).expand(1, N)
    if shape in ((N,), (N, 1), (1, N)):
        return value.reshape(1, N)
    if shape in ((N, groups), (N * groups,), (N * groups, 1)):
        return value.reshape(N, groups).T
    raise ValueError(
        f"{name} must have one element, shape ({N}, 1) for one of each channel, or ({N}, {groups}) "
        f"for one of each group, got {shape}"
    )


def bias_of(bias, N, device):
    """The bias (N,) on `device`; None stays None."""
    if bias is None:
        return None
    check_tensor("bias", bias)
    check_bias(bias, N)
    return bias.to(device)


def check_bias(bias, N):
    """Raise unless the bias is (N,), and floating-point."""
    if bias.dtype not in _FLOATS:
        raise TypeError(f"bias must be float16, bfloat16 or float32, got {bias.dtype}")
    if tuple(bias.shape) != (N,):
        raise ValueError(f"bias must have shape ({N},), got {tuple(bias.shape)}")


def check_replacement(name, new, packed, layer):
    """Raise unless a packed layer may have `new` in place of what it was packed with.

    new: a tensor or None. packed: `dtype_and_shape` of the other. Only words may change their
    device.
    """
    words, came = getattr(layer, "W_q", new), dtype_and_shape(new)
    if name == "bias" and new is not None:
        check_bias(new, layer.out_features)
        if layer.output_dtype.value == torch.int32:
            raise ValueError(INT32_RULE)
    elif name != "bias" and not _is_alike(name, came, packed):
        raise ValueError(
            f"{name} must stay {_said(packed)}, got {_said(came)}: pack the layer again"
        )
    if new is not None and name != "W_q" and not words.is_meta and new.device != words.device:
        raise ValueError(
            f"{name} is on {new.device} and the layer on {words.device}: move it there"
        )


def dtype_and_shape(tensor):
    """(dtype, shape) of a tensor; None for None."""
    return None if tensor is None else (tensor.dtype, tuple(tensor.shape))


def _is_alike(name, new, packed):
    if name in ("W_q", "high") or new is None or packed is None:
        return new == packed
    return new[1] == packed[1] and new[0] in _FLOATS


def _said(kind):
    return "none" if kind is None else f"{kind[0]} {kind[1]}"


def fits_16_bits(scales, zeros, nbits, dtype):
    """Whether dense weights of 16-bit `dtype` are finite, and nearly what the codes say.

    Rounding costs a weight half of the type's eps: 1/8 of a step between codes is allowed, where
    quantizing it cost up to 1/2. A step is to be a normal number of the type, which has all digits;
    with 8 bits, where weights have more steps, down to 1/16 of those if the type holds it exactly.
    """
    if dtype not in (torch.float16, torch.bfloat16):
        return False
    limits, steps = torch.finfo(dtype), torch.ones(1) if scales is None else scales.float().abs()
    steps = steps[steps > 0]
    if not steps.numel() or not torch.isfinite(steps).all():
        return False
    is_whole = (steps >= limits.tiny) | (steps == steps.to(dtype))
    smallest = limits.tiny * min(1, 16 / 2**nbits)
    zeros = torch.zeros(1) if zeros is None else zeros.float()
    reach = max(2**nbits - 1 - zeros.min().item(), zeros.max().item())  # of codes from their zero
    return (
        steps.max().item() * reach < limits.max
        and reach * limits.eps / 2 <= 1 / 8
        and steps.min().item() >= smallest
        and is_whole.all().item()
    )


def check_zeros_of_int8(zeros, layout):
    """Raise unless the products of int8 x, of two tiles, are added up exactly in float32."""
    top = 2**layout.nbits - 1
    largest = min(_EXACT_IN_FLOAT32 // (2 * layout.tile * _LARGEST_INT8), _EXACT_IN_FLOAT16)
    zeros = zeros.float()
    low, high = zeros.min().item(), zeros.max().item()
    is_whole = torch.equal(zeros, zeros.round())
    if not is_whole or not (top - largest <= low and high <= largest):
        raise ValueError(
            f"INT8 x takes whole zeros from {top - largest} to {largest} with {layout.nbits}-bit "
            f"codes, got {low:g} to {high:g}: round them, or use FP16 x"
        )


def check_int32_range(K, top, zeros):
    """Raise if sums of int8 x times codes of at most `top`, less zeros, may leave int32."""
    low, high = (0, 0) if zeros is None else (zeros.min().item(), zeros.max().item())
    longest = (2**31 - 1) // int(_LARGEST_INT8 * max(top - low, high, 1))
    if K > longest:
        raise ValueError(
            f"sums over in_features = {K} may leave int32: split it, up to {longest} in a layer"
        )


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
