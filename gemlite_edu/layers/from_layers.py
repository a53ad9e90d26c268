"""GemLite's helpers, which convert an existing layer to a `GemLiteLinear`.

AxWy means x-bit activations and y-bit weights; "dynamic": each call quantizes its activations.
"""

from typing import Any

import torch

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.layers.importers import HqqLinear, codes_of_hqq
from gemlite_edu.numbers.activations import scale_activations_fp8, scale_activations_int8
from gemlite_edu.numbers.dtypes import DType

_SIXTEEN_BITS = {torch.float16: DType.FP16, torch.bfloat16: DType.BF16}


class _FromLayer:
    """device: where the new layer goes; dtype: of x and y, torch.float16 or torch.bfloat16; None:
    the old layer's dtype, or float16 if that has not 16 bits."""

    def __init__(
        self, device: torch.device | str = "cuda:0", dtype: torch.dtype | None = None
    ) -> None:
        if dtype not in (None, *_SIXTEEN_BITS):
            raise ValueError(f"dtype must be torch.float16 or torch.bfloat16, got {dtype}")
        self.device, self.dtype = device, dtype

    def _dtype_for(self, tensor: torch.Tensor) -> DType:
        own = tensor.dtype if tensor.dtype in _SIXTEEN_BITS else torch.float16
        return _SIXTEEN_BITS[self.dtype or own]

    def _packed(
        self,
        N: int,
        K: int,
        dtype: DType,
        W_q: torch.Tensor,
        scales: torch.Tensor,
        zeros: torch.Tensor | None,
        bias: torch.Tensor | None,
        **options: Any,
    ) -> GemLiteLinear:
        layer = GemLiteLinear(in_features=K, out_features=N, output_dtype=dtype, **options)
        return layer.pack(W_q, scales, zeros, bias).to(self.device)


class _FromLinear(_FromLayer):
    """8-bit weights with a scale per channel: the largest |w| of a row becomes the largest code."""

    weight_dtype: torch.dtype = torch.int8
    input_dtype: DType | None = None

    def from_linear(self, linear: torch.nn.Linear) -> GemLiteLinear:
        """Convert a torch.nn.Linear to a `GemLiteLinear`; the original layer does not change."""
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
    """16-bit x; int8 weights with one scale per channel."""


class A8W8_int8_dynamic(_FromLinear):
    """int8 x with one scale per token; int8 weights with one scale per channel."""

    input_dtype = DType.INT8


class A8W8_fp8_dynamic(_FromLinear):
    """fp8 (e4m3) x with one scale per token; fp8 weights with one scale per channel."""

    weight_dtype, input_dtype = torch.float8_e4m3fn, DType.FP8


class A16Wn(_FromLayer):
    """16-bit x; the codes come from an HQQ layer."""

    input_dtype: DType | None = None

    def from_hqqlinear(self, hqq_linear: HqqLinear) -> GemLiteLinear:
        """Make a `GemLiteLinear` from an HQQ layer's codes, scales and zeros."""
        W_q, scales, zeros, nbits, group_size = codes_of_hqq(hqq_linear)
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
    """fp8 (e4m3) x with one scale per token; the codes come from an HQQ layer."""

    input_dtype = DType.FP8


def _per_channel(W: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize each row of W (N, K) float32 like a token: (codes of `dtype`, scales (N, 1))."""
    if W.device.type == "meta" or not W.numel():
        raise ValueError(f"the weight has no numbers: it is {tuple(W.shape)} on {W.device}")
    if not torch.isfinite(W).all():
        raise ValueError("the weight has NaN or infinite entries: clean it before quantizing")
    return scale_activations_int8(W) if dtype == torch.int8 else scale_activations_fp8(W, dtype)


def _bias(bias: torch.Tensor | None, dtype: DType) -> torch.Tensor | None:
    return None if bias is None else bias.detach().to(dtype.value)
