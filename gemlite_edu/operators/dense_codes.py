"""Dense weights of any format, made from packed codes by torch, and the product with them."""

import torch

from gemlite_edu.packing.plane_tiles import unpack_with_high


def product_with_dense(x, weight, format, epilogue, keeps_16_bits):
    """y (M, N) for x (M, K) and a `PackedWeight` whose codes stand for what `format` says.

    On a GPU W is rounded to the 16-bit dtype of x if `keeps_16_bits`. Otherwise, and on a CPU,
    everything is computed in float32.
    """
    is_rounded = keeps_16_bits and x.is_cuda and epilogue.token_scales is None
    dtype = x.dtype if is_rounded else torch.float32
    y = torch.nn.functional.linear(x.to(dtype), dense_of_codes(weight, format, dtype))
    y = y.float()
    if epilogue.token_scales is not None:
        y = y * epilogue.token_scales[:, None]
    if epilogue.bias is not None:
        y = y + epilogue.bias.float()
    return y.to(epilogue.y_dtype)


def dense_of_codes(weight, format, dtype):
    """W (N, K) of a `PackedWeight`, computed in float32 and rounded once to `dtype`.

    >>> from gemlite_edu import PackedWeight, quantize_linear
    >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(1, 32), 4))
    >>> dense_of_codes(weight, None, torch.float32)[0, :3]
    tensor([1., 1., 1.])
    """
    layout = weight.layout
    codes = unpack_with_high(weight.words, weight.high, layout)
    W = codes.float() if format is None else format.values(codes)
    grouped = W.reshape(weight.N, layout.K // (layout.group_size or layout.K), -1)
    if weight.zeros is not None:
        grouped -= _of_groups(weight.zeros, grouped)
    if weight.scales is not None:
        grouped *= _of_groups(weight.scales, grouped)
    if weight.channel_scales is not None:
        grouped *= weight.channel_scales.float()[:, None, None]
    return grouped.reshape(W.shape).to(dtype)


def _of_groups(values, grouped):
    """`values` (padded groups, N) for the groups of `grouped` (N, groups, members)."""
    return values[: grouped.shape[1]].T.float().unsqueeze(-1)
