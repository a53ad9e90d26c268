"""Dense weights of any format, made from packed codes by torch, and the product with them."""

from typing import NamedTuple

import torch

from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.piece_tiles import PieceTiles, unpack_piece_tiles
from gemlite_edu.packing.plane_tiles import unpack_with_high


class CodedTensors(NamedTuple):
    """The tensors of a layer whose weights are codes; see `PackedWeight` for their shapes.

    levels: (2**nbits,) float32, which the codes are indices into; None: codes are integers.
    """

    words: torch.Tensor
    high: torch.Tensor | None
    scales: torch.Tensor | None
    zeros: torch.Tensor | None
    channel_scales: torch.Tensor | None
    levels: torch.Tensor | None


def product_with_dense(x, weight, form, epilogue):
    """y (M, N) for x (M, K) and `CodedTensors` of a `Form`.

    On a GPU W is rounded to the 16-bit dtype of x if the form `keeps_16_bits`. Otherwise, and on a
    CPU, everything is computed in float32.
    """
    is_rounded = form.keeps_16_bits and x.is_cuda and epilogue.token_scales is None
    dtype = x.dtype if is_rounded else torch.float32
    y = torch.nn.functional.linear(x.to(dtype), dense_of_codes(weight, form, dtype)).float()
    if epilogue.token_scales is not None:
        y = y * epilogue.token_scales.reshape(-1, 1)
    if epilogue.bias is not None:
        y = y + epilogue.bias.float()
    return y.to(epilogue.y_dtype)


def dense_of_codes(weight, form, dtype):
    """W (N, K) of `CodedTensors`, computed in float32 and rounded once to `dtype`."""
    codes = _codes(weight, form.layout)
    W = codes.float() if weight.levels is None else _values(codes, weight.levels)
    grouped = W.reshape(len(W), form.groups, -1)
    if form.mode == WeightMode.FMA:
        grouped = grouped * _of_groups(weight.scales, form) + _of_groups(weight.zeros, form)
    else:
        if weight.zeros is not None:
            grouped -= _of_groups(weight.zeros, form)
        if weight.scales is not None:
            grouped *= _of_groups(weight.scales, form)
    if weight.channel_scales is not None:
        grouped *= weight.channel_scales.float()[:, None, None]
    return grouped.reshape(W.shape).to(dtype)


def _codes(weight, layout):
    if isinstance(layout, PieceTiles):
        return unpack_piece_tiles(weight.words, layout)
    return unpack_with_high(weight.words, weight.high, layout)


def _values(codes, levels):
    return levels.index_select(0, codes.reshape(-1).int()).reshape(codes.shape)


def _of_groups(values, form):
    """`values` (padded groups, N) as (N, groups, 1)."""
    return values[: form.groups].T.float().unsqueeze(-1)
