"""Weights in the many forms that a user has, made into the one that the kernels know."""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.layer_operands import (
    INT32_RULE,
    bias_of,
    check_int32_range,
    check_tensor,
    check_weight_shape,
    check_zeros_of_int8,
    codes_of,
    per_group,
)
from gemlite_edu.packing.plane_tiles import (
    PlainTiles,
    PlaneTiles,
    best_layout,
    pack_with_high,
    tile_plain,
)

TENSORS = ("W_q", "high", "scales", "zeros", "channel_scales", "bias")
_PLAIN_8_BIT = (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2)
_OPTIONAL = ("channel_scales", "bias")
_MODES = tuple(WeightMode)
_INSIDE = {  # which of the tensors a mode has
    WeightMode.NONE: set(),
    WeightMode.SHIFT: {"zeros"},
    WeightMode.SCALE: {"scales"},
    WeightMode.SHIFT_SCALE: {"scales", "zeros"},
    WeightMode.FMA: {"scales", "zeros"},
}


@dataclass(frozen=True)
class LayerWeights:
    """A layout, a mode, and {name: tensor or None} for `TENSORS`."""

    layout: PlaneTiles | PlainTiles
    mode: WeightMode
    tensors: dict

    def parameters(self):
        """{name: a copy of the tensor that no training changes, or None}."""
        return {name: _parameter_of(tensor) for name, tensor in self.tensors.items()}

    def to_ints(self):
        """What is not a tensor as ints, for a file."""
        word_bits = 0 if self.layout.nbits is None else self.layout.word_bits
        present = [int(self.tensors[name] is not None) for name in _OPTIONAL]
        return [_MODES.index(self.mode), word_bits, *present]


def _parameter_of(tensor):
    if tensor is None:
        return None
    own = tensor.detach().clone(memory_format=torch.contiguous_format)
    return torch.nn.Parameter(own, requires_grad=False)


def packed_weights(form, W_q, scales, zeros, bias, fma_mode, word_bits):
    """The `LayerWeights` of what `GemLiteLinear.pack` takes, for a `LayerForm`."""
    check_tensor("W_q", W_q)
    if W_q.is_floating_point() or W_q.dtype == torch.int8:
        layout, words, high = _plain(form, W_q, zeros)
    else:
        layout, words, high = _coded(form, W_q, word_bits)
    mode, inside = _scaled(form, layout, scales, zeros, fma_mode, W_q.device)
    bias = bias_of(bias, form.out_features, W_q.device)
    weights = LayerWeights(layout, mode, {"W_q": words, "high": high, **inside, "bias": bias})
    _check_output(form, weights)
    _check_sums(form, weights)
    return weights


def _check_sums(form, weights):
    """Raise unless sums of int8 x are exact, and stay in int32 if they are not scaled inside."""
    layout, zeros = weights.layout, weights.tensors["zeros"]
    if form.input_dtype != DType.INT8 or weights.mode == WeightMode.FMA:
        return
    if zeros is not None:
        check_zeros_of_int8(zeros[: form.groups], layout)
    if "scales" not in _INSIDE[weights.mode]:
        top = 128 if layout.nbits is None else 2**layout.nbits - 1
        check_int32_range(form.in_features, top, zeros)


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
    layout = PlainTiles(W.dtype, form.in_features)
    return layout, tile_plain(W, layout), None


def _coded(form, W_q, word_bits):
    if form.W_nbits == 16:
        raise TypeError(f"W_q of 16 bits must be {form.input_dtype.value}, got {W_q.dtype}")
    W_q = codes_of(W_q, form.out_features, form.in_features, form.W_nbits)
    check_codes(W_q, form.W_nbits)
    layout = _layout(form, word_bits)
    return layout, *pack_with_high(W_q, layout)


def _layout(form, word_bits=None):
    group_size = form.group_size if form.groups > 1 else None
    if word_bits is None:
        return best_layout(form.W_nbits, form.in_features, group_size)
    return PlaneTiles(form.W_nbits, form.in_features, group_size, word_bits)


def _scaled(form, layout, scales, zeros, fma_mode, device):
    """(mode, {name: tensor}): scales of channels multiply whole sums, others the sums of groups."""
    N, groups = form.out_features, form.groups
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


def _check_output(form, weights):
    is_scaled = form.scaled_activations or weights.tensors["channel_scales"] is not None
    if form.output_dtype == DType.INT32 and (
        form.input_dtype != DType.INT8
        or is_scaled
        or weights.tensors["bias"] is not None
        or "scales" in _INSIDE[weights.mode]
    ):
        raise ValueError(INT32_RULE)


def saved_weights(form, ints, tensors):
    """The `LayerWeights` of a file: of `to_ints`, and {name: tensor or None}. Raises ValueError."""
    mode, word_bits, *present = ints
    is_known = 0 <= mode < len(_MODES) and word_bits in (0, 8, 16, 32)
    if not is_known or not set(present) <= {0, 1}:
        raise ValueError(f"no layer is saved as {ints}")
    W_q, mode = tensors["W_q"], _MODES[mode]
    layout = _layout(form, word_bits) if word_bits else PlainTiles(W_q.dtype, form.in_features)
    expected = _expected(form, layout, mode, present)
    for name, tensor in tensors.items():
        shape, dtypes = expected[name]
        if tensor is None and shape is None:
            continue
        if tensor is None or tuple(tensor.shape) != shape or tensor.dtype not in dtypes:
            came = "none" if tensor is None else f"{tuple(tensor.shape)} {tensor.dtype}"
            raise ValueError(f"the saved layer must have {name} {shape}, got {came}")
    weights = LayerWeights(layout, mode, tensors)
    _check_output(form, weights)
    _check_sums(form, weights)
    return weights


def _expected(form, layout, mode, present):
    """{name: (shape, dtypes)} of the tensors of a layer; shape None: it has none."""
    N, floats = form.out_features, (torch.float16, torch.bfloat16, torch.float32)
    if layout.nbits is None:
        types = (form.input_dtype.value,) if form.W_nbits == 16 else _PLAIN_8_BIT
        words, groups = (layout.shape(N), types), None
    else:
        words, groups = (layout.shape(N), (layout.word_dtype,)), (layout.padded_groups, N)
    high = layout.high
    return {
        "W_q": words,
        "high": (None, ()) if high is None else (high.shape(N), (high.word_dtype,)),
        "scales": (groups if "scales" in _INSIDE[mode] else None, floats),
        "zeros": (groups if "zeros" in _INSIDE[mode] else None, floats),
    } | {
        name: ((N,) if is_there else None, floats)
        for name, is_there in zip(_OPTIONAL, present, strict=True)
    }
