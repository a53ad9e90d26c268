"""`Problem`: a product that any kernel may compute, its random operands, and its fp64 result."""

import re
from dataclasses import dataclass
from functools import partial

import torch

from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.packing import tiled_sparsity_50

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class WeightFormat:
    """The format of weights, written "W4 g128", "W4", "W16" or "W7 sparse".

    nbits: 1 to 8, or 16 for unquantized weights. group_size: how many neighbours along K share a
    scale and a zero; None: the whole channel. is_sparse: one weight is 0 in each pair whose members
    are 32 apart along K.
    """

    nbits: int
    group_size: int | None = None
    is_sparse: bool = False

    def __str__(self):
        groups = f" g{self.group_size}" if self.group_size else ""
        return f"W{self.nbits}{groups}" + (" sparse" if self.is_sparse else "")

    @property
    def bits_per_weight(self):
        """Packed bits per weight. Sparse weights take a code and one more bit for each pair."""
        return (self.nbits + 1) / 2 if self.is_sparse else self.nbits

    def divides(self, K):
        """True if K is a whole number of groups."""
        return self.group_size is None or K % self.group_size == 0

    @staticmethod
    def parse(text):
        """The format written "W4 g128" or "W4g128". Raises ValueError for anything else."""
        match = re.fullmatch(r"W([1-8]|16)(?: ?g([1-9]\d*))?( ?sparse)?", text)
        if match is None or (match[1] == "16" and match[2]) or (match[3] and match[1] != "7"):
            raise ValueError(f"weights are written W4g128, W8, W7sparse or W16, got {text!r}")
        group_size = int(match[2]) if match[2] else None
        return WeightFormat(int(match[1]), group_size, bool(match[3]))


@dataclass(frozen=True)
class Problem:
    """y = x Wᵀ with x (M, K), W (N, K); transposed: y = x W with x (M, N), y (M, K)."""

    weights: WeightFormat
    M: int
    N: int
    K: int
    transposed: bool = False

    def __str__(self):
        product = " transposed" if self.transposed else ""
        return f"{self.weights}{product} {self.N}x{self.K} M={self.M}"

    @property
    def y_columns(self):
        """The number of columns of y."""
        return self.K if self.transposed else self.N

    def draw_x(self, dtype, generator):
        """Random normal x of `dtype`, or uniform int8, on the generator's device."""
        columns = self.N if self.transposed else self.K
        device = generator.device
        if dtype == torch.int8:
            shape = (self.M, columns)
            return torch.randint(-128, 128, shape, device=device, generator=generator, dtype=dtype)
        return torch.randn(self.M, columns, device=device, generator=generator).to(dtype)

    def draw_weights(self, dtype, generator, is_symmetric=False):
        """Random weights: a `QuantizedWeight`, or a tensor (N, K) of `dtype` for 16 bits.

        Codes are uniform. Scales are values of `dtype` that differ from group to group; for int8
        all are 1. Zeros are the middle code 2**(nbits-1) if `is_symmetric`, else at random that
        code or a neighbour of it. The code of a pruned weight is its zero.
        """
        device, nbits = generator.device, self.weights.nbits
        if nbits == 16:
            W = torch.randn(self.N, self.K, device=device, generator=generator) / self.K**0.5
            return W.to(dtype)
        middle, group_size = 2 ** (nbits - 1), self.weights.group_size or self.K
        integers = partial(torch.randint, device=device, generator=generator)
        W_q = integers(0, 2 * middle, (self.N, self.K), dtype=torch.uint8)
        shape = (self.N, self.K // group_size)
        if dtype == torch.int8:
            scales = torch.ones(shape, device=device)
        else:
            scales = torch.rand(shape, device=device, generator=generator) + 0.5
            scales = (scales / (middle * self.K**0.5)).to(dtype).float()
        beside = 0 if is_symmetric else 1
        zeros = (middle + integers(-beside, beside + 1, shape)).clamp(max=2 * middle - 1).float()
        if self.weights.is_sparse:
            kept = tiled_sparsity_50(torch.rand(W_q.shape, device=device, generator=generator))
            W_q = torch.where(kept > 0, W_q, zeros.repeat_interleave(group_size, 1).to(W_q.dtype))
        return QuantizedWeight(W_q, scales, zeros, nbits, group_size)

    def rolled(self, weights, i):
        """Copy i of `weights`, rolled along the output, so that y rolls by `roll_of(i)` too."""
        dim = 1 if self.transposed else 0
        if isinstance(weights, torch.Tensor):
            return weights.roll(self.roll_of(i), dim)
        return QuantizedWeight(
            weights.W_q.roll(self.roll_of(i), dim),
            weights.scales.roll(i, dim),
            weights.zeros.roll(i, dim),
            weights.nbits,
            weights.group_size,
        )

    def roll_of(self, i):
        """How many columns the y of copy i is rolled by: whole groups if the groups lie along y."""
        return i * (self.weights.group_size or 1) if self.transposed else i

    def product(self, x, weights):
        """y in fp64 on x's device, from weights dequantized in fp64: (M, N), transposed (M, K)."""
        x, starts = x.double(), range(0, self.N, _ROWS_AT_ONCE)
        if self.transposed:
            return sum(x[:, n : n + _ROWS_AT_ONCE] @ _dense_rows(weights, n) for n in starts)
        return torch.cat([x @ _dense_rows(weights, n).T for n in starts], dim=1)


def _dense_rows(weights, n):
    """Rows n to n + 1023 of the weights, dequantized in fp64."""
    rows = slice(n, n + _ROWS_AT_ONCE)
    if isinstance(weights, torch.Tensor):
        return weights[rows].double()
    scales, zeros = (
        tensor[rows].double().repeat_interleave(weights.group_size, dim=1)
        for tensor in (weights.scales, weights.zeros)
    )
    return (weights.W_q[rows].double() - zeros) * scales


def kept_of(weights):
    """The mask of kept weights of a sparse `QuantizedWeight`, as `pack_sparse_1in2` takes it."""
    zeros = weights.zeros.repeat_interleave(weights.group_size, 1)
    return tiled_sparsity_50((weights.W_q != zeros).half())
