"""Layers and their right answers: the oracle, and how far an honest kernel may be from it."""

from dataclasses import dataclass

import torch
from fast_cases import LARGEST_OFFSET
from many_rows_bound import many_rows_error_bound

from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.numbers.bounds import (
    TRUNCATION,
    factored_error_bound,
    parts_error_bound,
    tensor_core_error_bound,
)
from gemlite_edu.numbers.reference import ScaledProduct

FP8_TYPES = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclass(frozen=True)
class Problem:
    """A layer as its user describes it, and the numbers that went into it."""

    layer: GemLiteLinear
    codes: torch.Tensor
    scales: torch.Tensor | None
    zeros: torch.Tensor | None
    bias: torch.Tensor | None
    fused_dtype: torch.dtype | None = None

    @property
    def W(self):
        """Dequantized, fp64."""
        codes, zeros, scales = self.product(torch.zeros(1, self.codes.shape[1])).parts
        return (codes - zeros) * scales

    def product(self, x, token_scales=None):
        """For the oracle. x: what reaches the kernel."""
        token_scales = None if token_scales is None else token_scales.flatten()
        scales, zeros, bias = self.scales, self.zeros, self.bias
        return ScaledProduct(x, self.codes, scales, zeros, None, token_scales, bias)

    def assert_right(self, y, x, token_scales=None, kernel="GEMM"):
        """y is as near to the oracle as an honest kernel comes. x (M, K)."""
        product = self.product(x.cpu(), None if token_scales is None else token_scales.cpu())
        exact, dtype = product.exact(), self.layer.output_dtype.value
        if dtype in FP8_TYPES:
            exact = exact.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max)
        assert y.dtype == dtype and y.shape == exact.shape
        if dtype == torch.int32:
            assert torch.equal(y.cpu().double(), exact)
            return
        error = (y.cpu().double() - exact).abs()
        excess = (error / self.bound(product, kernel)).max().item()
        assert excess <= 1, f"{kernel}: {excess} times the bound"

    def bound(self, product, kernel):
        """The largest error of an honest kernel, (M, N)."""
        y_dtype = self.layer.output_dtype.value
        if kernel == "DEQUANTIZE":
            return dequantized_bound(product, y_dtype)
        if kernel in ("GEMV_FAST", "GEMM_MMA"):
            return self.bound_in_parts(product, LARGEST_OFFSET[self.layer.W_nbits])
        if kernel == "GEMM_FAST" and len(product.x) <= 16:
            return self.bound_in_parts(product, 4 * 2**self.layer.W_nbits)
        if kernel == "GEMM_FAST":
            return many_rows_error_bound(product, y_dtype)
        if kernel.startswith("GEMV"):
            return factored_error_bound(product, y_dtype, fused_dtype=self.fused_dtype)
        compute_dtype = torch.bfloat16 if product.x.dtype == torch.bfloat16 else torch.float16
        if product.x.dtype == self.codes.dtype == torch.int8:
            compute_dtype = torch.int8
        return tensor_core_error_bound(
            product, y_dtype, compute_dtype=compute_dtype, fused_dtype=self.fused_dtype
        )

    def bound_in_parts(self, product, offset):
        """For codes that meet x with an offset on them, and scales the sums of their part of k."""
        part = min(self.layer.layout.padded_group, self.layer.layout.tile)
        y_dtype = self.layer.output_dtype.value
        return parts_error_bound(product, y_dtype, part=part, offset=offset)


def dequantized_bound(product, dtype):
    """Of a product with W rounded to `dtype`, added up in fp32 by a library; (M, N).

    Rounding moves a weight by v |w| + t / 2. The library adds up in any order, cuts off what is
    below 24 bits, and may once add up parts that it rounded to `dtype`. y and a bias are rounded
    once each.
    """
    codes, zeros, scales = product.parts
    v, t = bounds.OUTPUT_ROUNDOFF[dtype], bounds.SMALLEST_STEP[dtype]
    x, W = product.x.double().abs(), ((codes - zeros) * scales).abs()
    off = (v + 2.0**-21) * W + t / 2
    reached = reference.matmul(x, W + off) + product.bias_or_zero().abs()
    error = reference.matmul(x, off) + (1.5 * x.shape[1] + 8) * TRUNCATION * reached
    return error + 3 * (v * (reached + error) + t / 2)


def make(
    nbits=4,
    group_size=None,
    N=20,
    K=128,
    x=DType.FP16,
    y=DType.FP16,
    *,
    weights=None,
    scales=True,
    zeros=True,
    bias=None,
    scaled=False,
    fma_mode=False,
    word_bits=None,
    seed=0,
    **options,
):
    """The `Problem` of a layer whose scales differ over octaves, from one group to the next.

    weights: the type of weights that are numbers; None: codes of `nbits`, every one of which is
    drawn. scales, zeros: whether there are any. bias: its dtype, or None. word_bits: as for `pack`.
    """
    generator = torch.Generator().manual_seed(seed)
    groups = K // (group_size or K)
    own_scales = own_zeros = own_bias = None
    if scales:
        own_scales = 2.0 ** -torch.randint(3, 8, (N, groups), generator=generator)
        own_scales *= 1 + torch.rand(N, groups, generator=generator)
    if weights is None:
        codes = torch.randint(0, 2**nbits, (N, K), generator=generator).to(torch.uint8)
        if zeros:
            own_zeros = torch.randint(0, 2**nbits, (N, groups), generator=generator).float()
    elif weights == torch.int8:
        codes = torch.randint(-128, 128, (N, K), generator=generator).to(torch.int8)
    else:
        codes = torch.randn(N, K, generator=generator).to(weights)
    if bias is not None:
        own_bias = torch.randn(N, generator=generator).to(bias)
    layer = GemLiteLinear(nbits, group_size, K, N, x, y, scaled_activations=scaled, **options)
    layer.pack(codes, own_scales, own_zeros, own_bias, fma_mode, word_bits)
    fused_dtype = torch.float32 if fma_mode else None
    return Problem(layer, codes, own_scales, own_zeros, own_bias, fused_dtype)


def activations(M, K, dtype=torch.float16, seed=1):
    """x (M, K) of a layer's type."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.int8:
        return torch.randint(-128, 128, (M, K), generator=generator).to(torch.int8)
    return torch.randn(M, K, generator=generator).to(dtype)
