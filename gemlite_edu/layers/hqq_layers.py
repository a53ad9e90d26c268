"""The codes, scales and zeros that hqq found for a layer."""

import math

import torch

_NUMBERS = ("scale", "zero")  # in hqq's meta


def codes_of_hqq(layer):
    """(W_q (N, K) uint8, scales, zeros (N, groups), bits, group_size) of hqq's HQQLinear.

    hqq need not be installed: what counts is `meta` and `unpack` (hqq 0.2.8).
    """
    meta = getattr(layer, "meta", None)
    if not isinstance(meta, dict) or not callable(getattr(layer, "unpack", None)):
        raise TypeError(f"from_hqqlinear takes hqq's HQQLinear, got {type(layer).__name__}")
    if meta.get("axis") != 1:
        raise ValueError(f"the HQQ layer has axis = {meta.get('axis')}: quantize it with axis=1")
    if "scale" not in meta or "zero" not in meta:
        raise ValueError("the HQQ layer's own scales are quantized or elsewhere: quantize it anew")
    absent = {"shape", "nbits", "group_size"} - meta.keys()
    if absent:
        raise ValueError(f"the HQQ layer's meta has no {min(absent)}: it is not one of hqq 0.2")
    if meta.get("view_as_float"):
        raise ValueError("the HQQ layer is stored as floats: quantize it with view_as_float=False")
    N, K = meta["shape"]
    group_size, nbits = meta["group_size"] or K, math.ceil(meta["nbits"])
    nbits = 8 if nbits > 4 else nbits  # hqq keeps 5 and 6 bits in bytes, too
    if K % group_size:
        raise ValueError(f"the HQQ layer's groups of {group_size} do not divide K = {K}")
    is_packed = meta.get("packing", True) is not None
    codes = layer.unpack(dtype=torch.uint8) if is_packed else getattr(layer, "W_q", None)
    if not isinstance(codes, torch.Tensor):
        raise ValueError("the HQQ layer has no codes: initialize it")
    counts = codes.numel() - N * K, *(meta[n].numel() - N * K // group_size for n in _NUMBERS)
    if counts[0] < 0 or any(counts[1:]):
        raise ValueError(f"the HQQ layer has too few codes, scales or zeros for ({N}, {K})")
    W_q = codes.detach().flatten()[: N * K].reshape(N, K).to(torch.uint8)
    scales, zeros = (meta[name].reshape(N, K // group_size) for name in _NUMBERS)
    return W_q, scales, zeros, nbits, group_size
