"""Weights as codes, scales and zeros.

Quantization turns a weight matrix `W` (N, K) into codes `W_q` (uint8). Each group of `group_size`
neighbours along K shares one scale and one zero, so that `W ~ (W_q - zeros) * scales`.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import check_dense, check_flag, check_group_size

_UINT8_MAX_BITS = 8
_TERNARY_ZERO = 2  # BitNet's, so that no code is 0
_SMALLEST_MEAN = 1e-5


@dataclass(frozen=True)
class QuantizedWeight:
    """Codes with their scales and zeros; this class is the one place that checks their shapes.

    W_q: (N, K) uint8, each code below 2**nbits.
    scales, zeros: float32, (N, K // group_size), or (1, 1) for a whole tensor.
    group_size: how many neighbours along K share a scale; K itself means one scale per channel.
    """

    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    nbits: int
    group_size: int

    def __post_init__(self) -> None:
        check_nbits(self.nbits)
        check_codes(self.W_q, self.nbits)
        N, K = self.W_q.shape
        check_group_size(self.group_size, K)
        shape = (N, K // self.group_size)
        for name, tensor in (("scales", self.scales), ("zeros", self.zeros)):
            if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.float32:
                raise TypeError(f"{name} must be a float32 tensor, got {_kind(tensor)}")
            if tuple(tensor.shape) not in (shape, (1, 1)):
                raise ValueError(
                    f"{name} must have shape (N, K // group_size) = {shape} or (1, 1), "
                    f"got {tuple(tensor.shape)}"
                )

    def dequantize(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return `(W_q - zeros) * scales`, (N, K), computed in `dtype`."""
        repeats = self.group_size if self.scales.shape != (1, 1) else 1
        scales = self.scales.to(dtype).repeat_interleave(repeats, dim=1)
        repeats = self.group_size if self.zeros.shape != (1, 1) else 1
        zeros = self.zeros.to(dtype).repeat_interleave(repeats, dim=1)
        return (self.W_q.to(dtype) - zeros) * scales


def quantize_linear(
    W: torch.Tensor,
    nbits: int,
    group_size: int | None = None,
    symmetric: bool = False,
    *,
    per_tensor: bool = False,
    integer_zeros: bool = True,
) -> QuantizedWeight:
    """Round-to-nearest linear quantization of `W` (N, K), any float dtype, to `nbits` (1 to 8).

    group_size: a divisor of K; None means one scale and zero per output channel.
    symmetric: fix the zero at 2**(nbits-1), or at (2**nbits - 1) / 2 if not `integer_zeros`. With
        an integer zero, the scale has the sign of -w for the group's largest |w|: code 0 has no
        counterpart on the positive side, so the largest weight takes it.
    per_tensor: one scale and zero for the whole matrix, shape (1, 1).
    If not symmetric, the codes span min(w, 0) to max(w, 0), so the range always contains 0.

    Raises TypeError or ValueError for a wrong dtype, rank, width, group size, or non-finite weight.
    Source: Jacob et al. 2017, arXiv 1712.05877 (affine); ggml's Q4_0 (signed extreme).

    >>> q = quantize_linear(torch.tensor([[0.0, 1.0, 2.0, 3.0]]), nbits=2)
    >>> q.W_q.tolist(), q.scales.item(), q.zeros.item()
    ([[0, 1, 2, 3]], 1.0, 0.0)
    """
    check_nbits(nbits)
    _check_weight(W)
    flags = {"symmetric": symmetric, "per_tensor": per_tensor, "integer_zeros": integer_zeros}
    for name, value in flags.items():
        check_flag(name, value)
    if per_tensor and group_size is not None:
        raise ValueError(
            f"per_tensor=True has one scale for everything: leave group_size out, got {group_size}"
        )
    N, K = W.shape
    group_size = K if group_size is None else group_size
    check_group_size(group_size, K)

    groups = W.detach().double()
    groups = groups.reshape(1, 1, N * K) if per_tensor else groups.reshape(N, -1, group_size)
    choose = _symmetric_scale_zero if symmetric else _affine_scale_zero
    scales, zeros = choose(groups, nbits, integer_zeros)
    if not torch.isfinite(scales.float()).all():
        raise ValueError("the range of W does not fit in a float32 scale: divide W by a constant")

    safe_scales = torch.where(scales == 0, torch.ones_like(scales), scales)
    return QuantizedWeight(
        nearest_integers(groups, safe_scales, zeros, nbits).reshape(N, K),
        scales.float().squeeze(-1),
        zeros.float().squeeze(-1),
        nbits,
        group_size,
    )


def quantize_ternary(W: torch.Tensor) -> QuantizedWeight:
    """Quantize `W` (N, K), any float dtype, to -1, 0 or 1 times one scale, mean |W|.

    Returns a 2-bit `QuantizedWeight` with code = weight + 2, from 1 to 3, zero 2, and scale and
    zero of shape (1, 1). A weight with |w| up to half the mean becomes 0. The mean counts as at
    least 1e-5.
    Raises TypeError or ValueError like `quantize_linear`.
    Source: Ma et al. 2024 (BitNet b1.58), arXiv 2402.17764, equations 1 to 3 (absmean).

    >>> quantize_ternary(torch.tensor([[0.1, -3.0, 1.0, 0.3]])).W_q.tolist()
    [[2, 1, 3, 2]]
    """
    _check_weight(W)
    weights = W.detach().double()
    scale = weights.abs().mean().clamp(min=_SMALLEST_MEAN)
    if not torch.isfinite(scale.float()):
        raise ValueError("mean |W| does not fit in a float32 scale: divide W by a constant")
    codes = (weights / scale).round().clamp(-1, 1) + _TERNARY_ZERO
    return QuantizedWeight(
        codes.to(torch.uint8),
        scale.float().reshape(1, 1),
        torch.full((1, 1), float(_TERNARY_ZERO), dtype=torch.float32, device=W.device),
        2,
        W.shape[1],
    )


def nearest_integers(
    groups: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor, nbits: int
) -> torch.Tensor:
    """The code whose (code - zero) * scale is nearest to each number of groups (..., members).

    scales, zeros: (..., 1), no scale 0. Returns uint8 in the shape of `groups`.
    """
    return (groups / scales + zeros).round().clamp(0, 2**nbits - 1).to(torch.uint8)


def range_with_zero(groups: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest and the largest number of each group (..., members), or 0: two of (..., 1)."""
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    return low.clamp(max=0), high.clamp(min=0)


def _affine_scale_zero(
    groups: torch.Tensor, nbits: int, integer_zeros: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    low, high = range_with_zero(groups)
    scales = ((high - low) / (2**nbits - 1)).float().double()
    scales = torch.where(scales == 0, torch.ones_like(scales), scales)
    zeros = (0 - low) / scales
    return scales, zeros.round() if integer_zeros else zeros


def _symmetric_scale_zero(
    groups: torch.Tensor, nbits: int, integer_zeros: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    position = groups.abs().argmax(-1, keepdim=True)
    extreme = groups.gather(-1, position)
    zero = 2 ** (nbits - 1) if integer_zeros else (2**nbits - 1) / 2
    scales = (-extreme / zero).float().double()
    return scales, torch.full_like(scales, zero)


def check_is_quantized(q: object) -> None:
    """Raise unless `q` is a `QuantizedWeight`."""
    if not isinstance(q, QuantizedWeight):
        raise TypeError(f"from_quantized takes a QuantizedWeight, got {type(q).__name__}")


def check_nbits(nbits: object) -> None:
    """Raise unless `nbits` is an int from 1 to 8."""
    if not isinstance(nbits, int) or isinstance(nbits, bool):
        raise TypeError(f"nbits must be an int from 1 to 8, got {type(nbits).__name__}")
    if not 1 <= nbits <= _UINT8_MAX_BITS:
        raise ValueError(f"nbits must be from 1 to 8, got {nbits}")


def check_codes(W_q: object, nbits: int, name: str = "W_q") -> None:
    """Raise unless `W_q` is an (N, K) uint8 tensor of codes below 2**nbits, N and K at least 1."""
    if not isinstance(W_q, torch.Tensor) or W_q.dtype != torch.uint8:
        raise TypeError(f"{name} must be a torch.uint8 tensor of codes, got {_kind(W_q)}")
    check_has_numbers(name, W_q)
    if W_q.dim() != 2 or W_q.numel() == 0:
        raise ValueError(f"{name} must have shape (N, K) with N, K >= 1, got {tuple(W_q.shape)}")
    if int(W_q.max()) >= 2**nbits:
        raise ValueError(
            f"{name} has a code {int(W_q.max())}, but {nbits} bits end at {2**nbits - 1}: "
            f"clamp the codes or choose a larger nbits"
        )


def _check_weight(W: torch.Tensor) -> None:
    check_matrix_of_floats(W)
    check_finite(W)


def check_matrix_of_floats(W: object) -> None:
    """Raise unless `W` is a floating-point tensor (N, K), N and K at least 1."""
    if not isinstance(W, torch.Tensor) or not W.is_floating_point():
        raise TypeError(f"W must be a floating-point tensor, got {_kind(W)}")
    check_has_numbers("W", W)
    if W.dim() != 2 or W.numel() == 0:
        raise ValueError(f"W must have shape (N, K) with N, K >= 1, got {tuple(W.shape)}")


def check_has_numbers(name: str, tensor: torch.Tensor) -> None:
    """Raise for a sparse or nested tensor, and for one on meta."""
    check_dense(name, tensor)
    if tensor.is_meta:
        raise ValueError(f"{name} has no numbers, because it is on meta")


def check_finite(W: torch.Tensor) -> None:
    """Raise if the matrix `W` has a NaN or an infinity; the sentence says where."""
    broken = (~torch.isfinite(W.double())).nonzero()
    if len(broken):
        n, k = broken[0].tolist()
        raise ValueError(
            f"W[{n}, {k}] is {W[n, k].item()}, and {len(broken)} entries are NaN or infinite: "
            f"clean W before quantizing"
        )


def _kind(value: object) -> str:
    return f"{value.dtype} tensor" if isinstance(value, torch.Tensor) else type(value).__name__
