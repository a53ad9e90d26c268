"""What the products at the memory limit share as functions of torch tensors."""

from functools import partial

import torch

from gemlite_edu.kernels.gemv_fast import Types
from gemlite_edu.numbers.checks import aligned, aligned_pointers_of, pointers_of

_NAMES = ("x", "W_packed", "scales", "zeros", "channel_scales", "token_scales", "bias")


def multiply(prepared, x, weight, epilogue):
    """y (M, N) for x (M, K) by the product that prepared(...) makes; ValueError for another x."""
    if x.dim() != 2 or x.shape[1] != weight.layout.K or x.device != weight.words.device:
        raise ValueError(
            f"x must be (M, {weight.layout.K}) on {weight.words.device}, "
            f"got {tuple(x.shape)} on {x.device}"
        )
    optional = weight.scales, weight.zeros, weight.channel_scales, epilogue.bias
    types = Types(x.dtype, epilogue.y_dtype, *map(_dtype_of, optional))
    if len(x) == 0:
        return x.new_empty((0, weight.N), dtype=types.y)
    product = prepared(x.shape, weight.N, types, weight.layout, weight.mode, x.device)
    factors = weight.scales, weight.zeros, weight.channel_scales, epilogue.token_scales
    return product(x, weight.words, *factors, epilogue.bias)


def product_of(text, plan, y_shape, y_dtype, device):
    """What maps x, words and the other tensors to y on the device, by `text` as `plan` says.

    The tensors may be views: a text reads each of them from its first number on, in 16s of bytes.
    """
    if device.type != "cuda":
        return partial(_simulated, text, plan, y_shape, y_dtype)
    launch, empty = text.ready(plan, device), torch.empty(0, dtype=y_dtype, device=device)

    def product(*tensors):
        pointers = aligned_pointers_of(tensors)
        if pointers is None:
            tensors = _all_aligned(tensors)
            pointers = pointers_of(tensors)
        y = empty.new_empty(*y_shape)  # sooner than by torch.empty, or with the shape in one piece
        pointers.append(y.data_ptr())
        launch(pointers)
        return y

    return product


def _simulated(text, plan, y_shape, y_dtype, *tensors):
    x = tensors[0]
    y = x.new_empty(y_shape, dtype=y_dtype)
    M = y.shape[:-1].numel()
    named = dict(zip(_NAMES, _all_aligned(tensors), strict=True))
    text.run(plan, named | {"x": named["x"].reshape(M, -1)}, y.view(M, -1))
    return y


def _all_aligned(tensors):
    return [None if tensor is None else aligned(tensor) for tensor in tensors]


def _dtype_of(tensor):
    return torch.float32 if tensor is None else tensor.dtype
