"""Packed int4 weights with exact sums, in which any mixed-up code, scale or zero changes y."""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.numbers.bounds import scaled_weights_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.packing.int4_pairs import pack_2xint4, unpack_2xint4
from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import CheckFailed

_QUANTUM = 1 / 16
_MAX_QUANTA = 2**24  # float32 sums are exact up to this
_SIGNED_OFFSET = 8
_PADDING = 5
_ZEROS = 13  # an odd number, so that a zero is another one a tile of rows further on
_MANY = 47  # a prime: so many zeros and scales are distinct in `many_groups_int4`


@dataclass(frozen=True)
class Int4Case:
    """fp16 x and a weight: packed (K / 2, N), scales and zeros (groups, N), of any strides.

    scales and zeros may end with rows that belong to no k. config: how the problem is cut into
    programs. interpreted_dtype: the kernel's DTYPE in the interpreter, which is that of x on a GPU.
    """

    label: str
    packed: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    group_size: int
    config: dict
    is_exact: bool = True
    interpreted_dtype: torch.dtype = torch.float32

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
        return (self.codes - self._of_k(self.zeros)) * self._of_k(self.scales)

    def product(self, is_transposed):
        """The `ScaledProduct` x Wᵀ, or x W if `is_transposed`."""
        parts = self.codes, self._of_k(self.scales), self._of_k(self.zeros)
        return ScaledProduct(self.x, *(part.T if is_transposed else part for part in parts))

    def _of_k(self, values):
        """The scale or zero of each code, (N, K) float64."""
        return values.double()[torch.arange(self.K) // self.group_size].T


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
    zeros = ((7 * n + 3 * g + 1) % _ZEROS).float()
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
    _check_sums(case, columns == "N")
    return case


def _check_sums(case, is_transposed):
    W = case.W.abs().T if is_transposed else case.W.abs()
    largest = reference.matmul(case.x.abs(), W).max() / _QUANTUM
    assert largest < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"


def many_groups_int4(*size, **how):
    """Like `exact_int4`; no two groups of a row, nor rows of a group, share a zero or a scale.

    fp16 still holds each weight: five bits of a code less its zero, times four of a scale.
    """
    case = exact_int4(*size, **how)
    groups = len(case.scales)
    assert max(case.N, groups) <= _MANY and not case.signed
    n, g = torch.arange(case.N), torch.arange(groups)[:, None]
    place = (5 * n + 11 * g) % _MANY
    scales = (8 + place % 8) * 2.0 ** (place // 8) * _QUANTUM
    zeros = ((7 * n + 3 * g) % _MANY - _MANY // 3).float()
    case = replace(case, scales=_laid_as(case.scales, scales), zeros=_laid_as(case.zeros, zeros))
    _check_sums(case, how.get("columns") == "N")
    return case


def wide_int4(*size, **how):
    """Like `exact_int4`, with x of ten bits: products and sums are exact in float32, not in fp16.

    x is smaller by a factor of 16, so that y stays within what fp16 holds.
    """
    case = exact_int4(*size, **how)
    odd = 2 * torch.randint(0, 512, case.x.shape, generator=torch.Generator().manual_seed(0)) + 1
    case = replace(case, label=f"{case.label}, x of ten bits", x=case.x * odd / 16)
    codes, zeros, scales = case.product(how.get("columns") == "N").parts
    terms = (codes.abs() + zeros.abs()) * scales
    largest = reference.matmul(case.x.abs(), terms).max() / (_QUANTUM / 16)
    assert largest < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"
    return case


def as_on_a_gpu(case):
    """An exact case with a GPU's DTYPE in the interpreter, too."""
    return replace(case, label=f"{case.label}, DTYPE fp16", interpreted_dtype=case.x.dtype)


def random_int4(*size, **how):
    """Like `exact_int4`, with random x, scales and zeros, so that y is rounded."""
    case = exact_int4(*size, **how)
    generator = torch.Generator().manual_seed(0)
    shape = case.scales.shape
    scales = _laid_as(case.scales, (1 + torch.rand(shape, generator=generator)) / 16)
    zeros = _laid_as(case.zeros, torch.rand(shape, generator=generator) * 18 - 2)
    x = torch.randn(case.x.shape, generator=generator).half()
    label = f"{case.label}, random numbers"
    return replace(case, label=label, x=x, scales=scales, zeros=zeros, is_exact=False)


def expected(case, y_dtype, is_transposed=False, dot_dtype=torch.float16):
    """(y, None), or (y float64, its bound if tl.dot takes numbers of `dot_dtype`)."""
    product = case.product(is_transposed)
    if case.is_exact:
        return product.exact().to(y_dtype), None
    bound = scaled_weights_error_bound(product, y_dtype, compute_dtype=dot_dtype)
    return product.exact(), bound


def check_on_cpu(name, y, case, is_transposed=False):
    """Raise CheckFailed for a y in which something was rounded although DTYPE is float32 here."""
    rounded_as_on_a_gpu = expected(case, y.dtype, is_transposed)
    not_rounded = expected(case, y.dtype, is_transposed, torch.float32)
    mismatch = compare("y", y, *not_rounded, y.dtype)
    if mismatch and compare("y", y, *rounded_as_on_a_gpu, y.dtype) is None:
        raise CheckFailed(
            f"{name} is wrong on {case.label}: {mismatch}. It computes in fp16 or bf16 where it "
            "has float32: in the interpreter DTYPE is float32, and .to(DTYPE) rounds nothing"
        )


def laid_apart(case):
    """The case with scales of both signs, far zeros, and gaps between bytes, scales and zeros."""
    n, g = torch.arange(case.N), torch.arange(len(case.scales))[:, None]
    scales = case.scales * (1 - 2 * ((n + g) % 2)).to(case.scales.dtype)
    zeros = case.zeros + (300 * ((n + g) % 3 - 1)).to(case.zeros.dtype)
    laid = (_with_gaps(tensor) for tensor in (case.packed, scales, zeros))
    label = f"{case.label}, scales of both signs, every other row and column of larger tensors"
    return replace(case, label=label, **dict(zip(("packed", "scales", "zeros"), laid, strict=True)))


def padded(case):
    """The case with bytes, scales and zeros as parts of tensors with longer rows.

    A stride between rows is then no size of the part; neighbours in a row still lie side by side.
    """
    laid = (_padded(tensor) for tensor in (case.packed, case.scales, case.zeros))
    case = replace(case, **dict(zip(("packed", "scales", "zeros"), laid, strict=True)))
    return replace(case, label=f"{case.label}, each a part of a tensor with longer rows")


def _padded(tensor):
    if not tensor.is_contiguous():
        return _padded(tensor.T).T
    rows, columns = tensor.shape
    return tensor.new_ones(rows, columns + _PADDING)[:, :columns].copy_(tensor)


def _with_gaps(tensor):
    rows, columns = tensor.shape
    larger = tensor.new_ones(2 * rows, 2 * columns)[::2, ::2]
    return larger.copy_(tensor)


def as_views(case, are_views=True):
    """The case with scales and zeros as `.T` views, or contiguous."""
    scales, zeros = (_laid(t, are_views) for t in (case.scales, case.zeros))
    return replace(case, scales=scales, zeros=zeros)


def _laid_as(tensor, values):
    """A tensor of these values that lies as `tensor` does, and has its type."""
    return tensor.clone().copy_(values)


def _laid(tensor, is_view):
    return tensor.T.contiguous().T if is_view else tensor.contiguous()


def _label(shape, group_size, config, views, signed):
    M, N, K = shape
    codes = "signed" if signed else "unsigned"
    cut = ", ".join(f"{name} = {value}" for name, value in config.items() if "num" not in name)
    lie = {0: "contiguous b and scales", 1: "a .T view as ", 2: ".T views as "}[len(views)]
    lie += " and ".join(views)
    return f"M = {M}, N = {N}, K = {K}, GROUP = {group_size}, {codes} codes, {lie}, {cut}"
