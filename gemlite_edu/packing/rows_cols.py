"""The layout of GemLite's Triton version and of GPTQ: words of neighbours, the first one lowest.

With e codes per word, and j = 0 ... e - 1: packed over columns, word c of row n holds the codes
k = c * e + j; packed over rows, word r of column k holds the codes n = r * e + j. Code j occupies
bits nbits * j and up. For example

    4 bits, 8 to an int32    k = 7 6 5 4 3 2 1 0     codes 1, 2, 3, ..., 8: 0x87654321
    4 bits, 2 to a uint8     k = 1 0                 codes 1, 2: 0x21

with the most significant bits on the left. An incomplete last word has 0 in its unused bits. The
CUDA kernels of GemLite use another layout: see `warp_interleaved`.
Source: GemLite (Triton version), which packs words of 8, 16 and 32 bits over columns and then
transposes them: `pack_over_cols(W_q, nbits).T` has its shape (K / e, N).
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.quantize import check_codes, check_nbits
from gemlite_edu.packing.address_map import Address, check_words

WORD_DTYPES = {8: torch.uint8, 16: torch.int16, 32: torch.int32}


@dataclass(frozen=True)
class _Neighbours:
    nbits: int
    word_bits: int = 32

    def __post_init__(self) -> None:
        check_nbits(self.nbits)
        if self.nbits not in (8, 4, 2, 1):
            raise ValueError(f"nbits must be 8, 4, 2 or 1 to fill words, got {self.nbits}")
        if self.word_bits not in WORD_DTYPES:
            raise ValueError(f"word_bits must be 8, 16 or 32, got {self.word_bits}")

    @property
    def pack_factor(self) -> int:
        """Codes per word."""
        return self.word_bits // self.nbits

    @property
    def word_dtype(self) -> torch.dtype:
        """The torch dtype of a word."""
        return WORD_DTYPES[self.word_bits]


@dataclass(frozen=True)
class OverCols(_Neighbours):
    """The address map of words whose codes are neighbours along K; `nbits` is 8, 4, 2 or 1.

    >>> OverCols(4).locate(n=0, k=9)
    Address(row=0, col=1, shift=4)
    >>> OverCols(4, word_bits=8).packed_shape(N=3, K=9)
    (3, 5)
    """

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words of an (N, K) matrix."""
        return N, -(-K // self.pack_factor)

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        _check_place(n, k)
        word, field = divmod(k, self.pack_factor)
        return Address(n, word, self.nbits * field)


@dataclass(frozen=True)
class OverRows(_Neighbours):
    """The address map of words whose codes are neighbours along N; `nbits` is 8, 4, 2 or 1.

    >>> OverRows(4).locate(n=9, k=0)
    Address(row=1, col=0, shift=4)
    >>> OverRows(4, word_bits=8).packed_shape(N=9, K=3)
    (5, 3)
    """

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words of an (N, K) matrix."""
        return -(-N // self.pack_factor), K

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        _check_place(n, k)
        word, field = divmod(n, self.pack_factor)
        return Address(word, k, self.nbits * field)


def pack_over_cols(W_q: torch.Tensor, nbits: int, word_bits: int = 32) -> torch.Tensor:
    """Pack codes (N, K) uint8 into words (N, K / e): int32, or int16 or uint8 for 16 or 8 bits.

    N and K may have any size; an incomplete last word is filled with 0. Raises TypeError or
    ValueError for codes of the wrong dtype, rank or range.

    >>> hex(pack_over_cols(torch.tensor([[1, 2, 3, 4]], dtype=torch.uint8), nbits=4)[0, 0])
    '0x4321'
    """
    layout = OverCols(nbits, word_bits)
    check_codes(W_q, nbits)
    return _pack(W_q, layout)


def pack_over_rows(W_q: torch.Tensor, nbits: int, word_bits: int = 32) -> torch.Tensor:
    """Pack codes (N, K) uint8 into words (N / e, K); otherwise like `pack_over_cols`.

    >>> hex(pack_over_rows(torch.tensor([[1], [2], [3]], dtype=torch.uint8), nbits=4)[0, 0])
    '0x321'
    """
    layout = OverRows(nbits, word_bits)
    check_codes(W_q, nbits)
    return _pack(W_q.T, layout).T.contiguous()


def unpack_over_cols(W_packed: torch.Tensor, nbits: int, K: int) -> torch.Tensor:
    """The inverse of `pack_over_cols`: words of any of its dtypes to codes (N, K) uint8."""
    layout = OverCols(nbits, _word_bits(W_packed))
    check_words(W_packed, layout, K)
    return _unpack(W_packed, layout)[:, :K].contiguous()


def unpack_over_rows(W_packed: torch.Tensor, nbits: int, N: int) -> torch.Tensor:
    """The inverse of `pack_over_rows`: words of any of its dtypes to codes (N, K) uint8."""
    layout = OverRows(nbits, _word_bits(W_packed))
    check_words(W_packed, layout, K=W_packed.shape[-1:].numel(), N=N)
    return _unpack(W_packed.T, layout)[:, :N].T.contiguous()


def _pack(codes: torch.Tensor, layout: _Neighbours) -> torch.Tensor:
    fields = layout.pack_factor
    padded = torch.nn.functional.pad(codes, (0, -codes.shape[1] % fields)).to(layout.word_dtype)
    codes_of_words = padded.reshape(len(codes), -1, fields)
    words = torch.zeros_like(codes_of_words[..., 0])
    for field in range(fields):
        words |= codes_of_words[..., field] << layout.nbits * field
    return words


def _unpack(words: torch.Tensor, layout: _Neighbours) -> torch.Tensor:
    mask = 2**layout.nbits - 1
    fields = [words >> layout.nbits * field & mask for field in range(layout.pack_factor)]
    return torch.stack(fields, dim=-1).to(torch.uint8).reshape(len(words), -1)


def _word_bits(W_packed: torch.Tensor) -> int:
    for word_bits, dtype in WORD_DTYPES.items():
        if isinstance(W_packed, torch.Tensor) and W_packed.dtype == dtype:
            return word_bits
    came = W_packed.dtype if isinstance(W_packed, torch.Tensor) else type(W_packed).__name__
    raise TypeError(f"W_packed must be a torch.int32, int16 or uint8 tensor, got {came}")


def _check_place(n: int, k: int) -> None:
    if n < 0 or k < 0:
        raise ValueError(f"n and k start at 0, got ({n}, {k})")
