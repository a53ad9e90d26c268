"""`CodedWeight`: a weight matrix in any `Format`, from our quantizer or from yours."""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import check_dense, check_together
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.quantize import check_codes, check_matrix_of_floats

_WEIGHTS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class CodedWeight:
    """Codes and scales of a matrix (N, K): W ~ (value of code - zero) * (scale * tensor_scale).

    format: the `Format` that says which of these tensors there are, and what a code stands for.
    codes: (N, K) uint8, each below 2**nbits.
    scales: (N, groups) of format.scale_dtype, groups = K // group_size or 1; None without scales.
    zeros: (N, groups) float32, for integers only; None: every zero is 0.
    tensor_scale: () float32, if format.has_tensor_scale; else None.

    All tensors are on one device, and finite. Raises TypeError or ValueError for others.

    >>> codes = torch.tensor([[3, 0, 1, 2]], dtype=torch.uint8)
    >>> mine = Format(2, levels=(-1, -0.5, 0, 2))
    >>> CodedWeight(mine, codes, scales=torch.tensor([[0.5]]).half()).dequantize()
    tensor([[ 1.0000, -0.5000, -0.2500,  0.0000]])
    """

    format: Format
    codes: torch.Tensor
    scales: torch.Tensor | None = None
    zeros: torch.Tensor | None = None
    tensor_scale: torch.Tensor | None = None

    def __post_init__(self) -> None:
        check_is_format(self.format)
        check_dense("codes", self.codes)
        if self.codes.is_meta:
            raise ValueError("codes have no numbers, because they are on meta")
        check_codes(self.codes, self.format.nbits, name="codes")
        N, K = self.codes.shape
        per_group = (N, self.format.groups_of(K))
        of_zeros = torch.float32 if self.format.has_zeros else None
        of_tensor_scale = torch.float32 if self.format.has_tensor_scale else None
        self._check_part("scales", self.format.scale_dtype, per_group)
        if self.zeros is not None:
            self._check_part("zeros", of_zeros, per_group)
        self._check_part("tensor_scale", of_tensor_scale, ())

    def _check_part(self, name: str, dtype: torch.dtype | None, shape: tuple[int, ...]) -> None:
        """Check the tensor called `name`, which must be None if the format has no dtype for it."""
        tensor = getattr(self, name)
        if dtype is None:
            if tensor is not None:
                raise ValueError(f"{name} must be None, because {self.format!r} has none")
            return
        if tensor is None:
            raise ValueError(f"{name} must be a {name_of(dtype)} tensor {shape}, got None")
        check_dense(name, tensor, [dtype])
        if tuple(tensor.shape) != shape:
            words = " = (N, groups)" if shape else ", of one number"
            raise ValueError(f"{name} must have shape {shape}{words}, got {tuple(tensor.shape)}")
        check_together(name, tensor.device, "codes", self.codes.device)
        if not tensor.float().isfinite().all():
            raise ValueError(f"{name} must be finite, got a NaN or an infinity among them")

    def dequantize(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return the weights, (N, K); computed in float32, or float64 for that dtype, then rounded.

        Raises TypeError for a dtype that is no float.

        >>> q = CodedWeight(Format(2), torch.tensor([[0, 3]]).byte(), torch.ones(1, 1).half())
        >>> q.dequantize(torch.bfloat16)
        tensor([[0., 3.]], dtype=torch.bfloat16)
        """
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise TypeError(f"dtype must be a float dtype of torch, got {dtype!r}")
        W = torch.empty(self.codes.shape, dtype=dtype, device=self.codes.device)
        for rows in row_blocks(*self.codes.shape):
            W[rows] = self._weights(
                rows, torch.float64 if dtype == torch.float64 else torch.float32
            )
        return W

    def error(self, W: torch.Tensor) -> float:
        """The relative error ||dequantized - W|| / ||W|| in the Frobenius norm, a float.

        W: (N, K), any float dtype, on the device of the codes. For a W of zeros, 0 or infinity.
        Raises TypeError or ValueError for another W.

        >>> W = torch.tensor([[3.0, 0.0]])
        >>> CodedWeight(Format(2), torch.tensor([[2, 0]]).byte(), torch.ones(1, 1).half()).error(W)
        0.3333333333333333
        """
        check_matrix_of_floats(W)
        if W.shape != self.codes.shape:
            came = tuple(W.shape)
            raise ValueError(
                f"W must have the shape of the codes, {tuple(self.codes.shape)}: {came}"
            )
        check_together("W", W.device, "codes", self.codes.device)
        lost = total = 0.0
        for rows in row_blocks(*W.shape):
            exact = W[rows].detach().double()
            lost += (self._weights(rows, torch.float64) - exact).square().sum().item()
            total += exact.square().sum().item()
        if total == 0:
            return float("inf") if lost else 0.0
        return (lost / total) ** 0.5

    def _weights(self, rows: slice, dtype: torch.dtype) -> torch.Tensor:
        """The dequantized weights of some rows, (rows, K), computed in `dtype`."""
        codes = self.codes[rows]
        groups = self.format.groups_of(codes.shape[1])
        weights = self.format.values(codes, dtype).reshape(len(codes), groups, -1)
        if self.zeros is not None:
            weights = weights - self.zeros[rows].to(dtype).unsqueeze(-1)
        if self.scales is not None or self.tensor_scale is not None:
            weights = weights * self._factors(rows, dtype)
        return weights.reshape(codes.shape)

    def _factors(self, rows: slice, dtype: torch.dtype) -> torch.Tensor | int:
        """scale * tensor_scale of each group of some rows, broadcasting to (rows, groups, 1)."""
        tensor_scale = 1 if self.tensor_scale is None else self.tensor_scale.to(dtype)
        return (
            tensor_scale
            if self.scales is None
            else self.scales[rows, :, None].to(dtype) * tensor_scale
        )


def check_is_format(format: object) -> None:
    """Raise unless `format` is a `Format`."""
    if not isinstance(format, Format):
        is_width = type(format) is int and 1 <= format <= 8
        came = f"{format}: pass INT{format}" if is_width else type(format).__name__
        raise TypeError(f"format must be a gemlite_edu.Format, such as NF4, got {came}")


def row_blocks(N: int, K: int) -> list[slice]:
    """Slices of the rows of an (N, K) matrix, so that temporary tensors of one block stay small."""
    rows = max(1, _WEIGHTS_AT_ONCE // K)
    return [slice(first, first + rows) for first in range(0, N, rows)]
