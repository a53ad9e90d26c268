"""Packed int4 weights with exact sums, in which any mixed-up code, scale or zero changes y."""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.packing.int4_pairs import pack_2xint4, unpack_2xint4

_QUANTUM = 1 / 16
_MAX_QUANTA = 2**24  # float32 sums are exact up to this
_SIGNED_OFFSET = 8


@dataclass(frozen=True)
class Int4Case:
    """fp16 x and a weight: packed (K / 2, N), scales and zeros (groups, N), of any strides.

    scales and zeros may end with rows that belong to no k. config: how the problem is cut into
    programs.
    """

    label: str
    packed: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    group_size: int
    config: dict
    is_exact: bool = True

    @property
    def N(self):
        """Rows of W."""
        return self.packed.shape[1]

    @property
    def K(self):
        """Columns of W."""
        return 2 * len(self.packed)

    @property
    def signed(self):
        """True if codes are -8 to 7."""
        return self.packed.dtype == torch.int8

    @property
    def codes(self):
        """(N, K) float64."""
        return unpack_2xint4(self.packed).T.double()

    @property
    def W(self):
        """(N, K) float64."""
        k = torch.arange(self.K)
        scales, zeros = (t.double()[k // self.group_size].T for t in (self.scales, self.zeros))
        return (self.codes - zeros) * scales


def exact_int4(
    shape,
    group_size,
    config,
    views,
    signed=False,
    columns="K",
    dtype=torch.float32,
    spare=0,
    seed=None,
):
    """A case of `shape` (M, N, K); scales are powers of two, and neighbours of any kind differ.

    views: which of "b" and "scales" are `.T` of a contiguous matrix; the others are contiguous.
    columns: "K" or "N", the size that the columns of x count. spare: rows of scales that belong to
    no k. seed: by default each shape has its own.
    """
    M, N, K = shape
    generator = torch.Generator().manual_seed(M + N + K if seed is None else seed)
    codes = torch.randint(0, 16, (N, K), dtype=torch.uint8, generator=generator)
    n, g = torch.arange(N), torch.arange(K // group_size + spare)[:, None]
    scales = 2.0 ** ((2 * n + 3 * g) % 5) * _QUANTUM
    zeros = ((7 * n + 3 * g + 1) % 16).float()
    if signed:
        codes, zeros = codes.to(torch.int8) - _SIGNED_OFFSET, zeros - _SIGNED_OFFSET
    x = torch.randint(-1, 2, (M, K if columns == "K" else N), generator=generator).half()
    at = torch.arange(x.shape[1])
    x[at % M, at] = 1 - 2 * (at % 2).half()
    packed = pack_2xint4(codes.T)
    case = Int4Case(
        _label(shape, group_size, config, views, signed),
        packed if "b" in views else packed.contiguous(),
        *(_laid(t.to(dtype), "scales" in views) for t in (scales, zeros)),
        x,
        group_size,
        config,
    )
    W = case.W.abs() if columns == "K" else case.W.abs().T
    largest = reference.matmul(x.abs(), W).max() / _QUANTUM
    assert largest < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"
    return case


def as_views(case, are_views=True):
    """The case with scales and zeros as `.T` views, or contiguous."""
    scales, zeros = (_laid(t, are_views) for t in (case.scales, case.zeros))
    return replace(case, scales=scales, zeros=zeros)


def _laid(tensor, is_view):
    return tensor.T.contiguous().T if is_view else tensor.contiguous()


def _label(shape, group_size, config, views, signed):
    M, N, K = shape
    codes = "signed" if signed else "unsigned"
    cut = ", ".join(f"{name} = {value}" for name, value in config.items() if "num" not in name)
    lie = {0: "contiguous b and scales", 1: "a .T view as ", 2: ".T views as "}[len(views)]
    lie += " and ".join(views)
    return f"M = {M}, N = {N}, K = {K}, GROUP = {group_size}, {codes} codes, {lie}, {cut}"
