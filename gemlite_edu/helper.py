"""From a layer that exists to a `GemLiteLinear`: the helpers of seed 001.

AxWy: x bits of activations, y of weights; "dynamic": activations are quantized in each call.
"""

import math

import torch

from gemlite_edu.activations import scale_activations_fp8, scale_activations_int8
from gemlite_edu.dtypes import DType
from gemlite_edu.linear import GemLiteLinear

__all__ = ["A8W8_fp8_dynamic", "A8W8_int8_dynamic", "A8Wn_dynamic", "A16W8", "A16Wn"]

_SIXTEEN_BITS = {torch.float16: DType.FP16, torch.bfloat16: DType.BF16}
_NUMBERS = ("scale", "zero")  # in hqq's meta


class _FromLayer:
    """device: of the result; dtype: torch.float16 or torch.bfloat16, of x and y; None: the layer's
    own, or float16 for a layer of another type."""

    def __init__(self, device="cuda:0", dtype=None):
        if dtype not in (None, *_SIXTEEN_BITS):
            raise ValueError(f"dtype must be torch.float16 or torch.bfloat16, got {dtype}")
        self.device, self.dtype = device, dtype

    def _dtype_for(self, tensor):
        own = tensor.dtype if tensor.dtype in _SIXTEEN_BITS else torch.float16
        return _SIXTEEN_BITS[self.dtype or own]

    def _packed(self, N, K, dtype, W_q, scales, zeros, bias, **options):
        layer = GemLiteLinear(in_features=K, out_features=N, output_dtype=dtype, **options)
        return layer.pack(W_q, scales, zeros, bias).to(self.device)


class _FromLinear(_FromLayer):
    """Weights of 8 bits per channel: the largest |w| of a row is the largest number of the type."""

    weight_dtype, input_dtype = torch.int8, None

    def from_linear(self, linear):
        """A `GemLiteLinear` for a torch.nn.Linear, which stays as it is."""
        if not isinstance(linear, torch.nn.Linear):
            raise TypeError(f"from_linear takes a torch.nn.Linear, got {type(linear).__name__}")
        W = linear.weight.detach()
        dtype, (N, K) = self._dtype_for(W), W.shape
        W_q, scales = _per_channel(W.float(), self.weight_dtype)
        return self._packed(
            N,
            K,
            dtype,
            W_q,
            scales,
            None,
            _bias(linear.bias, dtype),
            W_nbits=8,
            group_size=None,
            input_dtype=self.input_dtype or dtype,
            scaled_activations=self.input_dtype is not None,
        )


class A16W8(_FromLinear):
    """16-bit x, int8 weights per channel."""


class A8W8_int8_dynamic(_FromLinear):
    """int8 x, a scale for each token; int8 weights per channel."""

    input_dtype = DType.INT8


class A8W8_fp8_dynamic(_FromLinear):
    """fp8 (e4m3) x, a scale for each token; fp8 weights per channel."""

    weight_dtype, input_dtype = torch.float8_e4m3fn, DType.FP8


class A16Wn(_FromLayer):
    """16-bit x, the codes of an HQQ layer."""

    input_dtype = None

    def from_hqqlinear(self, hqq_linear):
        """A `GemLiteLinear` of the codes, scales and zeros that hqq found; its layer stays."""
        W_q, scales, zeros, nbits, group_size = _of_hqq(hqq_linear)
        dtype, (N, K) = self._dtype_for(hqq_linear.meta["scale"]), W_q.shape
        return self._packed(
            N,
            K,
            dtype,
            W_q,
            scales,
            zeros,
            _bias(getattr(hqq_linear, "bias", None), dtype),
            W_nbits=nbits,
            group_size=group_size,
            input_dtype=self.input_dtype or dtype,
            scaled_activations=self.input_dtype is not None,
        )


class A8Wn_dynamic(A16Wn):
    """fp8 (e4m3) x, a scale for each token; the codes of an HQQ layer."""

    input_dtype = DType.FP8


def _per_channel(W, dtype):
    """(W / scales as `dtype`, scales (N, 1) float32) of W (N, K) float32: a channel is a token."""
    if W.device.type == "meta" or not W.numel():
        raise ValueError(f"the weight has no numbers: it is {tuple(W.shape)} on {W.device}")
    if not torch.isfinite(W).all():
        raise ValueError("the weight has NaN or infinite entries: clean it before quantizing")
    return scale_activations_int8(W) if dtype == torch.int8 else scale_activations_fp8(W, dtype)


def _bias(bias, dtype):
    return None if bias is None else bias.detach().to(dtype.value)


def _of_hqq(layer):
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
    codes = layer.unpack(dtype=torch.uint8)
    if codes is None:
        raise ValueError("the HQQ layer has no packed codes: initialize it, with bitpack=True")
    counts = codes.numel() - N * K, *(meta[n].numel() - N * K // group_size for n in _NUMBERS)
    if counts[0] < 0 or any(counts[1:]):
        raise ValueError(f"the HQQ layer has too few codes, scales or zeros for ({N}, {K})")
    W_q = codes.flatten()[: N * K].reshape(N, K)
    scales, zeros = (meta[name].reshape(N, K // group_size) for name in _NUMBERS)
    return W_q, scales, zeros, nbits, group_size
