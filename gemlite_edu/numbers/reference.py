"""The oracles: they compute in fp64 with dequantized weights and know nothing about packing."""

from dataclasses import dataclass

import torch


def matmul(x: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """`y = x Wᵀ` in fp64. x: (M, K), W: (N, K), any dtype; returns (M, N) float64."""
    return x.detach().double().cpu() @ W.detach().double().cpu().T


def relative_error(y: torch.Tensor, right: torch.Tensor) -> float:
    """||y - right|| / ||right||, in fp64: one number for the errors of a whole tensor.

    >>> relative_error(torch.tensor([3.0, 5.0]), torch.tensor([3.0, 4.0]))
    0.2
    """
    right = right.double()
    return ((y.double() - right).norm() / right.norm()).item()


@dataclass(frozen=True)
class ScaledProduct:
    """y = x W^T * channel_scales * token_scales + bias, where W = (codes - zeros) * scales.

    x (M, K); codes (N, K), of any type; scales, zeros (N, groups); channel_scales, bias (N,);
    token_scales (M,). A factor that is None is left out. All values are used without rounding.
    """

    x: torch.Tensor
    codes: torch.Tensor
    scales: torch.Tensor | None = None
    zeros: torch.Tensor | None = None
    channel_scales: torch.Tensor | None = None
    token_scales: torch.Tensor | None = None
    bias: torch.Tensor | None = None

    @property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(codes, zeros, scales) of every weight, each (N, K) float64."""
        codes = self.codes.double().cpu()
        zeros = _per_column(self.zeros, codes, 0.0)
        return codes, zeros, _per_column(self.scales, codes, 1.0)

    def exact(self) -> torch.Tensor:
        """y in fp64; (M, N)."""
        codes, zeros, scales = self.parts
        return matmul(self.x, (codes - zeros) * scales) * self.factors() + self.bias_or_zero()

    def factors(self) -> torch.Tensor:
        """The factors that multiply a sum over K; broadcasts to (M, N)."""
        one = torch.ones(1, dtype=torch.float64)
        channel = one if self.channel_scales is None else self.channel_scales.double().cpu()
        token = one if self.token_scales is None else self.token_scales.double().cpu()
        return token[:, None] * channel

    def bias_or_zero(self) -> torch.Tensor:
        """The bias in fp64; broadcasts to (M, N)."""
        return torch.zeros(1) if self.bias is None else self.bias.double().cpu()


def _per_column(values: torch.Tensor | None, codes: torch.Tensor, default: float) -> torch.Tensor:
    """Scales or zeros (N, groups) as (N, K) float64."""
    if values is None:
        return torch.full_like(codes, default)
    repeats = codes.shape[1] // values.shape[1]
    return values.double().cpu().repeat_interleave(repeats, dim=1).expand(codes.shape)
