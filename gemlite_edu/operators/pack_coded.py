"""Make the tensors of a `GemLiteLinear` from a `CodedWeight`."""

import torch

from gemlite_edu.kernels.decoders import Coding, check_decoding_holes
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.pack import checked, packed

_X_DTYPES = {
    torch.float16: DType.FP16,
    torch.bfloat16: DType.BF16,
    torch.float32: DType.FP32,
}
_KERNEL_DTYPES = {  # the dtype, exact for every scale, in which kernels read scales
    torch.float8_e8m0fnu: torch.bfloat16,
    torch.float8_e4m3fn: torch.float16,
}


def packed_coded(q, bias, dtype):
    """(`Form`, {name: tensor or None}) of a layer for a `CodedWeight`; see `from_coded`."""
    if not isinstance(q, CodedWeight):
        raise TypeError(f"from_coded takes a CodedWeight, got {type(q).__name__}")
    check_decoding_holes(q.format)
    scales, tensor_scale = _scales_of(q)
    form = _form_for(q, dtype)
    levels = q.format.levels_on(q.codes.device)
    form, tensors = packed(form, q.codes, scales, q.zeros, bias, False, None, levels)
    if tensor_scale is None:
        return form, tensors
    tensors["channel_scales"] = tensor_scale.expand(form.out_features)
    return checked(form, tensors), tensors


def _form_for(q, dtype):
    if dtype not in _X_DTYPES:
        takes = ", ".join(map(str, _X_DTYPES))
        raise ValueError(f"dtype must be one of {takes}, got {dtype}")
    N, K = q.codes.shape
    is_float32 = dtype == torch.float32
    input_dtype = DType.FP16 if is_float32 else _X_DTYPES[dtype]
    return Form(
        q.format.nbits,
        q.format.group_size,
        K,
        N,
        input_dtype,
        _X_DTYPES[dtype],
        None,
        is_float32,
        coding=Coding.of(q.format),
    )


def _scales_of(q):
    """(scales for `packed`, a scale for whole sums or None)."""
    if q.scales is None:
        return q.tensor_scale, None
    scales = q.scales.to(_KERNEL_DTYPES.get(q.scales.dtype, q.scales.dtype))
    if q.tensor_scale is None:
        return scales, None
    if scales.shape[1] == 1:
        return scales.float() * q.tensor_scale, None
    return scales, q.tensor_scale
