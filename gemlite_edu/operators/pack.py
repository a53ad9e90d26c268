"""Make the tensors of a `GemLiteLinear` from the many forms in which users have weights.

The same step completes the layer's `Form`, which holds everything that is not a tensor.
"""

import math
import numbers
from dataclasses import replace

import torch

from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.numbers.checks import FLOATS, check_bias, check_dense, check_flag, check_no_grad
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.form import HALVES, MOST_PADDING
from gemlite_edu.operators.weight import (
    check_sums_of_int8,
    check_zeros_of_int8,
    fits_16_bits,
    levels_fit_16_bits,
)
from gemlite_edu.packing.piece_tiles import PieceTiles, pack_piece_tiles
from gemlite_edu.packing.plain_tiles import tile_plain
from gemlite_edu.packing.plane_tiles import PlaneTiles, best_layout, pack_with_high
from gemlite_edu.packing.rows_cols import unpack_over_cols, unpack_over_rows

INT32_RULE = "output_dtype INT32 is for INT8 x without any scales or bias"
TENSORS = ("W_q", "high", "scales", "zeros", "channel_scales", "bias")
PLAIN_8_BIT = (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2)
INSIDE = {  # the tensors that each mode has
    WeightMode.NONE: set(),
    WeightMode.SHIFT: {"zeros"},
    WeightMode.SCALE: {"scales"},
    WeightMode.SHIFT_SCALE: {"scales", "zeros"},
    WeightMode.FMA: {"scales", "zeros"},
}


def packed(form, W_q, scales, zeros, bias, fma_mode, word_bits, levels=None):
    """(`Form`, {name: tensor or None}) made from the arguments of `GemLiteLinear.pack`.

    levels: float32, on the device of W_q, if the form's codes are indices into them.
    """
    check_operand("W_q", W_q)
    check_flag("fma_mode", fma_mode)
    form = replace(form, in_pieces=word_bits is None and form.wants_pieces)
    if W_q.is_floating_point() or W_q.dtype == torch.int8:
        words, high = _plain(form, W_q, zeros), None
    else:
        words, high = _coded(form, W_q, word_bits)
    form = replace(form, word_dtype=words.dtype)
    mode, inside = _scaled(form, scales, zeros, fma_mode, W_q.device)
    if bias is not None:
        check_operand("bias", bias)
        check_bias(bias, form.out_features)
        bias = bias.to(W_q.device)
    tensors = {"W_q": words, "high": high, **inside, "bias": bias, "levels": levels}
    broken = not_finite(tensors)
    if broken:
        name = broken[0].removeprefix("channel_")
        raise ValueError(f"{name} must be finite, got a NaN or an infinity")
    return checked(replace(form, mode=mode), tensors), tensors


def not_finite(tensors):
    """The names of scales, zeros and bias in {name: tensor or None} that have NaN or infinities."""
    factors = {name: tensors[name] for name in ("scales", "zeros", "channel_scales", "bias")}
    return [
        name
        for name, tensor in factors.items()
        if tensor is not None and not tensor.is_meta and not tensor.isfinite().all()
    ]


def check_operand(name, value, devices=("cpu", "cuda")):
    """Raise unless `value` is a dense tensor on one of `devices` and needs no gradient."""
    check_dense(name, value)
    if value.device.type not in devices:
        raise TypeError(f"{name} must be on a CPU or CUDA device, got {value.device}")
    check_no_grad(name, value)


def _plain(form, W, zeros):
    allowed = {16: (form.input_dtype.value,), 8: (torch.uint8, *PLAIN_8_BIT)}
    takes = allowed.get(form.W_nbits, (torch.uint8,))
    if W.dtype not in takes:
        raise TypeError(
            f"W_q of {form.W_nbits} bits for {form.input_dtype} must be "
            f"{' or '.join(map(str, takes))}, got {W.dtype}"
        )
    _check_shape(W, form.out_features, form.in_features)
    if form.groups > 1:
        raise ValueError(
            f"weights of {W.dtype} have one scale per channel: group_size must be None, "
            f"got {form.group_size}"
        )
    if zeros is not None:
        raise ValueError(f"zeros are for uint8 codes: weights of {W.dtype} have none")
    if form.input_dtype == DType.INT8 and W.dtype != torch.int8:
        raise TypeError(f"INT8 x takes int8 weights or uint8 codes, got {W.dtype}")
    return tile_plain(W, replace(form, word_dtype=W.dtype).layout)


def _coded(form, W_q, word_bits):
    if form.W_nbits == 16:
        raise TypeError(f"W_q of 16 bits must be {form.input_dtype.value}, got {W_q.dtype}")
    W_q = _codes_of(W_q, form.out_features, form.in_features, form.W_nbits)
    check_codes(W_q, form.W_nbits)
    of_codes = form.W_nbits, form.in_features, form.group_size if form.groups > 1 else None
    if form.in_pieces:
        return pack_piece_tiles(W_q, PieceTiles(*of_codes)), None
    if word_bits is None:
        return pack_with_high(W_q, _layout_for(form, *of_codes))
    return pack_with_high(W_q, PlaneTiles(*of_codes, word_bits))


def _layout_for(form, nbits, K, group_size):
    """The layout of the fast kernels if it pads little, or if no other kernel decodes the format;
    else the one that pads least."""
    least = best_layout(nbits, K, group_size)
    if form.input_dtype not in HALVES:
        return least
    try:
        fast = FastWeights(nbits, group_size).layout(K)
    except ValueError:
        return least
    if not isinstance(fast, PlaneTiles):  # in pieces, which `form.wants_pieces` has declined
        return least
    pads_little = fast.padded_K <= MOST_PADDING * least.padded_K
    return fast if pads_little or form.coding is not None else least


def _codes_of(W_q, N, K, nbits):
    """The codes (N, K) in W_q, which holds either the codes or words of `packing.rows_cols`.

    Words over columns may be transposed, (words, N), as GemLite's Triton version stores them.
    """
    if tuple(W_q.shape) == (N, K):
        return W_q
    codes_of_a_word = 8 * W_q.dtype.itemsize // nbits
    shape, words = tuple(W_q.shape), (-(-N // codes_of_a_word), -(-K // codes_of_a_word))
    if nbits == 3 or shape not in ((N, words[1]), (words[1], N), (words[0], K)):
        _check_shape(W_q, N, K)
    if N == K and shape == (words[0], K):
        raise ValueError(
            f"words {shape} of a square layer may be packed over rows, or over columns and "
            "transposed: give codes, of packing.unpack_over_rows or packing.unpack_over_cols"
        )
    if shape == (words[0], K):
        return unpack_over_rows(W_q, nbits, N)
    return unpack_over_cols(W_q if shape[0] == N else W_q.T.contiguous(), nbits, K)


def _check_shape(W, N, K):
    if tuple(W.shape) != (N, K):
        raise ValueError(
            f"W_q must have shape (out_features, in_features) = ({N}, {K}), or be words of it, "
            f"got {tuple(W.shape)}"
        )


def _scaled(form, scales, zeros, fma_mode, device):
    """(mode, {name: tensor}). Channel scales multiply whole sums; group scales, a group's sum."""
    N, groups, layout = form.out_features, form.groups, form.layout
    scales = _rows_of_groups("scales", scales, N, groups, device)
    zeros = _rows_of_groups("zeros", zeros, N, groups, device)
    channel_scales = None
    if scales is not None and scales.shape[0] == 1:
        scales, channel_scales = None, scales[0]
    mode = {
        (False, False): WeightMode.NONE,
        (False, True): WeightMode.SHIFT,
        (True, False): WeightMode.SCALE,
        (True, True): WeightMode.FMA if fma_mode else WeightMode.SHIFT_SCALE,
    }[scales is not None, zeros is not None]
    if mode == WeightMode.FMA:
        zeros = (-zeros.float() * scales.float()).to(scales.dtype)
    if zeros is not None:
        zeros = layout.pad_groups(zeros.expand(groups, N))
    if scales is not None:
        scales = layout.pad_groups(scales)
    return mode, {"scales": scales, "zeros": zeros, "channel_scales": channel_scales}


def _rows_of_groups(name, value, N, groups, device):
    """Scales or zeros as (groups, N), or as (1, N) for one per channel; None stays None."""
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if math.isfinite(value) and abs(value) > torch.finfo(torch.float32).max:
            raise ValueError(f"{name} must fit in float32, got {value}")
        return torch.full((1, N), float(value), dtype=torch.float32, device=device)
    check_operand(name, value)
    if not value.is_floating_point():
        raise TypeError(f"{name} must be a number or a floating-point tensor, got {value.dtype}")
    dtype = value.dtype if value.dtype in FLOATS else torch.float32
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


def checked(form, tensors):
    """The form, completed with what the tensors determine. Raises if y would be wrong."""
    layout, zeros, has_scales = form.layout, tensors["zeros"], "scales" in INSIDE[form.mode]
    optional = tensors["channel_scales"], tensors["bias"]
    if form.output_dtype == DType.INT32 and (
        form.input_dtype != DType.INT8
        or form.scaled_activations
        or has_scales
        or any(tensor is not None for tensor in optional)
    ):
        raise ValueError(INT32_RULE)
    if form.input_dtype == DType.INT8 and form.mode != WeightMode.FMA:
        if zeros is not None:
            check_zeros_of_int8(zeros[: form.groups], layout)
        if not has_scales:
            top = 128 if layout.nbits is None else 2**layout.nbits - 1
            check_sums_of_int8(form.in_features, top, zeros)
    return replace(form, keeps_16_bits=_keeps_16_bits(form, tensors))


def _keeps_16_bits(form, tensors):
    """True if torch can multiply by dense weights instead, rounding each weight only once."""
    layout, x_dtype, y_dtype = form.operands
    is_dense = layout.nbits is None or form.mode == WeightMode.FMA or form.scaled_activations
    if is_dense or x_dtype != y_dtype or x_dtype.itemsize != 2:
        return False
    steps = _steps(tensors["scales"], tensors["channel_scales"])
    if form.has_levels:
        return levels_fit_16_bits(steps, tensors["levels"], x_dtype)
    return fits_16_bits(steps, tensors["zeros"], layout.nbits, x_dtype)


def _steps(scales, of_channels):
    if scales is None or of_channels is None:
        return scales if of_channels is None else of_channels
    return scales.float() * of_channels


def check_replacement(name, new, packed, layer):
    """Raise unless `new` may replace the tensor `name` of a packed layer.

    new: a tensor or None. packed: `dtype_and_shape` of the tensor from `pack`. Only the words may
    move to another device.
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
    return new[1] == packed[1] and new[0] in FLOATS


def _said(kind):
    return "none" if kind is None else f"{kind[0]} {kind[1]}"
