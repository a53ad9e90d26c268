"""A packing format is an address map: `layout.locate(n, k)` says where code W_q[n, k] lives.

The map alone defines a slow, obviously correct pack and unpack; tests compare each fast packer with
them. A layout has `nbits`, `packed_shape(N, K)` and `locate(n, k)`. A layout that splits codes also
has `planes`, the bits of each piece from the lowest up, and locates every piece. A layout whose
words are not int32 has `word_dtype`.
"""

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import torch

from gemlite_edu.numbers.quantize import check_codes


class Address(NamedTuple):
    """Row and column of a word, and the right shift that brings the code to its lowest bits."""

    row: int
    col: int
    shift: int


class Layout(Protocol):
    """What `check_words` must know of a layout."""

    @property
    def nbits(self) -> int: ...

    def packed_shape(self, N: int, K: int) -> tuple[int, int]: ...


class AddressMap(Layout, Protocol):
    """A layout that has a place for each code: an `Address`, or one for each of its pieces."""

    def locate(self, n: int, k: int) -> Any: ...


def pack_by_map(W_q: torch.Tensor, layout: AddressMap) -> torch.Tensor:
    """Pack codes (N, K) uint8 into words of shape `layout.packed_shape(N, K)`, one code at a time.

    Bits that no code maps to stay 0.
    """
    check_codes(W_q, layout.nbits)
    N, K = W_q.shape
    rows, cols = layout.packed_shape(N, K)
    words = [[0] * cols for _ in range(rows)]
    for n in range(N):
        for k in range(K):
            for piece, first_bit, bits in _pieces(layout, n, k):
                value = int(W_q[n, k]) >> first_bit & 2**bits - 1
                words[piece.row][piece.col] |= value << piece.shift
    return torch.tensor(words, dtype=torch.int64).to(_word_dtype(layout))  # keeps the low bits


def unpack_by_map(W_packed: torch.Tensor, layout: AddressMap, N: int, K: int) -> torch.Tensor:
    """The inverse of `pack_by_map`: words back to codes (N, K) uint8, one code at a time."""
    check_words(W_packed, layout, K, N)
    words = W_packed.tolist()
    codes = torch.zeros(N, K, dtype=torch.uint8)
    for n in range(N):
        for k in range(K):
            for piece, first_bit, bits in _pieces(layout, n, k):
                value = words[piece.row][piece.col] >> piece.shift & 2**bits - 1
                codes[n, k] |= value << first_bit
    return codes


def _pieces(layout: AddressMap, n: int, k: int) -> Iterable[tuple[Address, int, int]]:
    """(`Address`, first bit, number of bits) of every piece of code W_q[n, k]."""
    if not hasattr(layout, "planes"):
        return [(layout.locate(n, k), 0, layout.nbits)]
    first_bits = itertools.accumulate(layout.planes, initial=0)
    return zip(layout.locate(n, k), first_bits, layout.planes, strict=False)


def check_words(W_packed: torch.Tensor, layout: Layout, K: int, N: int | None = None) -> None:
    """Raise unless `W_packed` has `layout`'s dtype and shape for (N, K) codes; None is any N."""
    _check_size("K", K)
    if N is not None:
        _check_size("N", N)
    dtype = _word_dtype(layout)
    if not isinstance(W_packed, torch.Tensor) or W_packed.dtype != dtype:
        came = W_packed.dtype if isinstance(W_packed, torch.Tensor) else type(W_packed).__name__
        raise TypeError(f"W_packed must be a {dtype} tensor, got {came}")
    N = W_packed.shape[:1].numel() if N is None else N
    expected = layout.packed_shape(N, K)
    if tuple(W_packed.shape) != expected:
        raise ValueError(
            f"{layout.nbits}-bit codes ({N}, {K}) take words {expected}, "
            f"got {tuple(W_packed.shape)}"
        )


def _check_size(name: str, size: object) -> None:
    if not isinstance(size, int) or isinstance(size, bool):
        raise TypeError(f"{name} must be an int, got {type(size).__name__}")
    if size < 1:
        raise ValueError(f"{name} must be at least 1, got {size}")


def _word_dtype(layout: Layout) -> torch.dtype:
    return getattr(layout, "word_dtype", torch.int32)
