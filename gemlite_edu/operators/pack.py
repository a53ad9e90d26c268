"""The tensors of a `GemLiteLinear`: made of the many forms that a user has, or read from a file.

What is not a tensor is a `Form`; here both are made together.
"""

from dataclasses import replace

import torch

from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.layer_operands import (
    INT32_RULE,
    bias_of,
    check_int32_range,
    check_tensor,
    check_weight_shape,
    check_zeros_of_int8,
    codes_of,
    fits_16_bits,
    per_group,
)
from gemlite_edu.packing.plane_tiles import PlaneTiles, best_layout, pack_with_high, tile_plain

TENSORS = ("W_q", "high", "scales", "zeros", "channel_scales", "bias")
_PLAIN_8_BIT = (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2)
_OPTIONAL = ("channel_scales", "bias")
_INTS_OF_FORM, _METADATA = 10, 12  # ints that a layer is saved with
_INSIDE = {  # which of the tensors a mode has
    WeightMode.NONE: set(),
    WeightMode.SHIFT: {"zeros"},
    WeightMode.SCALE: {"scales"},
    WeightMode.SHIFT_SCALE: {"scales", "zeros"},
    WeightMode.FMA: {"scales", "zeros"},
}


def packed(form, W_q, scales, zeros, bias, fma_mode, word_bits):
    """(`Form`, {name: tensor or None}) of what `GemLiteLinear.pack` takes, for its arguments."""
    check_tensor("W_q", W_q)
    if W_q.is_floating_point() or W_q.dtype == torch.int8:
        words, high = _plain(form, W_q, zeros), None
    else:
        words, high = _coded(form, W_q, word_bits)
    form = replace(form, word_dtype=words.dtype)
    mode, inside = _scaled(form, scales, zeros, fma_mode, W_q.device)
    bias = bias_of(bias, form.out_features, W_q.device)
    tensors = {"W_q": words, "high": high, **inside, "bias": bias}
    return _checked(replace(form, mode=mode), tensors), tensors


def _plain(form, W, zeros):
    allowed = {16: (form.input_dtype.value,), 8: (torch.uint8, *_PLAIN_8_BIT)}
    takes = allowed.get(form.W_nbits, (torch.uint8,))
    if W.dtype not in takes:
        raise TypeError(
            f"W_q of {form.W_nbits} bits for {form.input_dtype} must be "
            f"{' or '.join(map(str, takes))}, got {W.dtype}"
        )
    check_weight_shape(W, form.out_features, form.in_features)
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
    W_q = codes_of(W_q, form.out_features, form.in_features, form.W_nbits)
    check_codes(W_q, form.W_nbits)
    of_codes = form.W_nbits, form.in_features, form.group_size if form.groups > 1 else None
    layout = best_layout(*of_codes) if word_bits is None else PlaneTiles(*of_codes, word_bits)
    return pack_with_high(W_q, layout)


def _scaled(form, scales, zeros, fma_mode, device):
    """(mode, {name: tensor}): scales of channels multiply whole sums, others the sums of groups."""
    N, groups, layout = form.out_features, form.groups, form.layout
    scales = per_group("scales", scales, N, groups, device)
    zeros = per_group("zeros", zeros, N, groups, device)
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


def _checked(form, tensors):
    """The form, with what the tensors decide of it. Raises for y that would be wrong."""
    layout, zeros, has_scales = form.layout, tensors["zeros"], "scales" in _INSIDE[form.mode]
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
            check_int32_range(form.in_features, top, zeros)
    return replace(form, keeps_16_bits=_keeps_16_bits(form, tensors))


def _keeps_16_bits(form, tensors):
    """Whether a library can multiply by dense weights instead, and round no more than once."""
    layout, x_dtype, y_dtype = form.operands
    is_dense = layout.nbits is None or form.mode == WeightMode.FMA or form.scaled_activations
    if is_dense or x_dtype != y_dtype or x_dtype.itemsize != 2:
        return False
    of_channels = tensors["channel_scales"]
    scales = tensors["scales"] if of_channels is None else of_channels
    return fits_16_bits(scales, tensors["zeros"], layout.nbits, x_dtype)


def metadata_of(form, tensors):
    """A layer without its tensors as ints, for a file."""
    present = [int(tensors[name] is not None) for name in _OPTIONAL]
    return torch.tensor([*form.to_ints(), *present], device=tensors["W_q"].device)


def saved(metadata, tensors):
    """(`Form`, tensors) of a file: of `metadata_of`, and {name: tensor or None}.

    Raises TypeError or ValueError for what no layer was saved as.
    """
    if metadata.is_meta:
        raise ValueError("it has no numbers: it is on meta")
    if metadata.dtype != torch.int64 or tuple(metadata.shape) != (_METADATA,):
        raise ValueError(f"it must be {_METADATA} ints, got {tuple(metadata.shape)}")
    ints = metadata.tolist()
    present = ints[_INTS_OF_FORM:]
    if not set(present) <= {0, 1}:
        raise ValueError(f"no layer is saved as {ints}")
    form = Form.from_ints(ints[:_INTS_OF_FORM], tensors["W_q"].dtype)
    for name, (shape, dtypes) in _expected(form, present).items():
        tensor = tensors[name]
        if tensor is None and shape is None:
            continue
        if tensor is None or tuple(tensor.shape) != shape or tensor.dtype not in dtypes:
            came = "none" if tensor is None else f"{tuple(tensor.shape)} {tensor.dtype}"
            raise ValueError(f"the saved layer must have {name} {shape}, got {came}")
    return _checked(form, tensors), tensors


def _expected(form, present):
    """{name: (shape, dtypes)} of the tensors of a layer; shape None: it has none."""
    N, layout, high = form.out_features, form.layout, form.layout.high
    floats = torch.float16, torch.bfloat16, torch.float32
    if layout.nbits is None:
        word_dtypes = (form.input_dtype.value,) if form.W_nbits == 16 else _PLAIN_8_BIT
        of_groups = None
    else:
        word_dtypes, of_groups = (layout.word_dtype,), (layout.padded_groups, N)
    return {
        "W_q": (layout.shape(N), word_dtypes),
        "high": (None, ()) if high is None else (high.shape(N), (high.word_dtype,)),
        "scales": (of_groups if "scales" in _INSIDE[form.mode] else None, floats),
        "zeros": (of_groups if "zeros" in _INSIDE[form.mode] else None, floats),
    } | {
        name: ((N,) if is_there else None, floats)
        for name, is_there in zip(_OPTIONAL, present, strict=True)
    }
