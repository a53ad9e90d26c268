"""4-bit weights in torchao's `triton_mixed_mm` format: bytes of two codes, scales and zeros."""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import FLOATS, check_dense, check_group_size, check_together
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.packing.int4_pairs import CODE_RANGES, pack_2xint4, unpack_2xint4


@dataclass(frozen=True, eq=False)
class Int4Weight:
    """W ~ (codes - zeros) * scales, (N, K), stored as transposed tensors that this class checks.

    packed: bytes (K / 2, N) from `packing.pack_2xint4`, uint8 for codes 0 to 15, int8 for -8 to 7.
    scales, zeros: (K / group_size, N), fp16, bf16 or fp32. All three may have any strides.
    """

    packed: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    group_size: int

    def __post_init__(self) -> None:
        for name in ("packed", "scales", "zeros"):
            _check_matrix(name, getattr(self, name))
        if self.packed.dtype not in CODE_RANGES:
            raise TypeError(f"packed must be torch.uint8 or torch.int8, got {self.packed.dtype}")
        check_group_size(self.group_size, self.K)
        shape = (self.K // self.group_size, self.N)
        for name, tensor in (("scales", self.scales), ("zeros", self.zeros)):
            check_dense(name, tensor, FLOATS)
            if tuple(tensor.shape) != shape:
                raise ValueError(
                    f"{name} must have shape (K / group_size, N) = {shape}, "
                    f"got {tuple(tensor.shape)}"
                )
            check_together(name, tensor.device, "packed", self.packed.device)

    @staticmethod
    def from_quantized(q: QuantizedWeight, dtype: torch.dtype = torch.float32) -> "Int4Weight":
        """Convert a 4-bit `QuantizedWeight`, with its scales and zeros cast to `dtype`.

        Raises ValueError for other widths, and for scales or zeros that `dtype` cannot represent.

        >>> from gemlite_edu import quantize_linear
        >>> weight = Int4Weight.from_quantized(quantize_linear(torch.ones(3, 8), 4))
        >>> weight.N, weight.K, tuple(weight.packed.shape)
        (3, 8, (4, 3))
        """
        if q.nbits != 4:
            raise ValueError(f"int4 weights have 4 bits, these have {q.nbits}")
        N, K = q.W_q.shape
        scales, zeros = (
            tensor.expand(N, K // q.group_size).T.to(dtype).contiguous()
            for tensor in (q.scales, q.zeros)
        )
        vanished = scales.eq(0).any() and not q.scales.eq(0).any()
        if vanished or not scales.isfinite().all() or not zeros.isfinite().all():
            raise ValueError(f"a scale or a zero does not fit in {dtype}: take torch.float32")
        return Int4Weight(pack_2xint4(q.W_q.T), scales, zeros, q.group_size)

    @property
    def N(self) -> int:
        """Rows of W: outputs of the layer."""
        return self.packed.shape[1]

    @property
    def K(self) -> int:
        """Columns of W: inputs of the layer."""
        return 2 * self.packed.shape[0]

    def dequantize(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """(codes - zeros) * scales, (N, K), computed in `dtype` with plain torch."""
        scales, zeros = (
            tensor.to(dtype).repeat_interleave(self.group_size, dim=0)
            for tensor in (self.scales, self.zeros)
        )
        return ((unpack_2xint4(self.packed).to(dtype) - zeros) * scales).T


def _check_matrix(name: str, tensor: torch.Tensor) -> None:
    check_dense(name, tensor)
    if tensor.dim() != 2 or tensor.numel() == 0:
        raise ValueError(f"{name} must be a matrix, not empty, got {tuple(tensor.shape)}")
