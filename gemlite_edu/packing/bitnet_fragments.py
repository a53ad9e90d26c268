"""The orders in which BitMedViT stores BitNet's words for WMMA fragments (tokens x outputs x k).

A fragment needs 16 k of 8, 16 or 32 outputs, which is one word, 16 codes of a row, per output.
These orders store the words of a fragment together, fragment after fragment along k. With 32
outputs, rows 16 to 23 come before rows 8 to 15. With 16 outputs, BitMedViT keeps BitNet's own
order, in which two fragments, 16 x 32 codes, form one tile.
Source: M-iki/BitMedViT, the reshuffles of its test scripts.
"""

from dataclasses import dataclass
from typing import Literal

import torch

from gemlite_edu.packing.address_map import Address, check_words
from gemlite_edu.packing.bitnet_2bit import CODES_OF_A_WORD, TILE_K, TILE_N, Bitnet2Bit

Fragment = Literal["8x32x16", "16x16x16", "32x8x16"]  # tokens x outputs x k
FRAGMENTS: dict[Fragment, tuple[int, int]] = {
    "8x32x16": (8, 32),
    "16x16x16": (16, 16),
    "32x8x16": (32, 8),
}  # tokens, outputs

_ROWS_OF_A_RUN = 8
_RUNS = {8: (0,), 32: (0, 2, 1, 3)}  # runs of rows, in a fragment's order


@dataclass(frozen=True)
class BitnetFragments:
    """The address map for rows of K codes in the order for `fragment`, a name in FRAGMENTS.

    >>> BitnetFragments("8x32x16", K=64).locate(n=16, k=1)
    Address(row=2, col=0, shift=8)
    """

    fragment: Fragment
    K: int

    nbits = 2

    def __post_init__(self) -> None:
        _check_fragment(self.fragment)

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words: N rounded up to 16, or to 32 if a fragment has 32 outputs."""
        rows, columns = Bitnet2Bit(self.K).packed_shape(N, K)
        whole = max(self._outputs, TILE_N)
        return -(-rows // whole) * whole, columns

    @property
    def _outputs(self) -> int:
        return FRAGMENTS[self.fragment][1]

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        address = Bitnet2Bit(self.K).locate(n, k)
        if self._outputs == TILE_N:
            return address
        columns = -(-self.K // TILE_K) * TILE_K // CODES_OF_A_WORD
        band, row = divmod(n, self._outputs)
        run = _RUNS[self._outputs].index(row // _ROWS_OF_A_RUN)
        fragment = band * columns + k // CODES_OF_A_WORD
        word = fragment * self._outputs + run * _ROWS_OF_A_RUN + row % _ROWS_OF_A_RUN
        return Address(*divmod(word, columns), address.shift)


def to_fragments(W_packed: torch.Tensor, fragment: Fragment, K: int) -> torch.Tensor:
    """Reorder words of `pack_bitnet_2bit`, with K codes per row, for `fragment`.

    Returns int32 words of shape `BitnetFragments(fragment, K).packed_shape(...)`. If a fragment
    needs more rows than W_packed has, they are 0. Raises TypeError or ValueError for other words.
    """
    _check_fragment(fragment)
    check_words(W_packed, Bitnet2Bit(K), K)
    outputs = FRAGMENTS[fragment][1]
    if outputs == TILE_N:
        return W_packed.clone()
    rows, columns = W_packed.shape
    padded = torch.nn.functional.pad(W_packed, (0, 0, 0, -rows % outputs))
    runs = _rows_of_tiles(padded).reshape(-1, len(_RUNS[outputs]), _ROWS_OF_A_RUN, columns)
    return runs[:, list(_RUNS[outputs])].permute(0, 3, 1, 2).reshape(padded.shape)


def from_fragments(W_packed: torch.Tensor, fragment: Fragment, N: int, K: int) -> torch.Tensor:
    """The inverse of `to_fragments` for codes (N, K): words in BitNet's order, N rounded up to 16.

    Raises TypeError or ValueError unless the words have the layout `BitnetFragments(fragment, K)`.
    """
    _check_fragment(fragment)
    check_words(W_packed, BitnetFragments(fragment, K), K, N)
    outputs = FRAGMENTS[fragment][1]
    if outputs == TILE_N:
        return W_packed.clone()
    # The order of the runs is its own inverse.
    order, columns = list(_RUNS[outputs]), W_packed.shape[1]
    runs = W_packed.reshape(-1, columns, len(order), _ROWS_OF_A_RUN)[:, :, order]
    words = _tiles_of_rows(runs.permute(0, 2, 3, 1).reshape(W_packed.shape))
    return words[: -(-N // TILE_N) * TILE_N].contiguous()


def _check_fragment(fragment: str) -> None:
    if fragment not in FRAGMENTS:
        raise ValueError(f"fragment must be one of {', '.join(FRAGMENTS)}, got {fragment!r}")


def _rows_of_tiles(words: torch.Tensor) -> torch.Tensor:
    """Reorder words from BitNet's tiles to row after row, (N, K / 16)."""
    tiles = words.reshape(len(words) // TILE_N, -1, 2, 2, _ROWS_OF_A_RUN)
    return tiles.permute(0, 2, 4, 1, 3).reshape(words.shape)


def _tiles_of_rows(words: torch.Tensor) -> torch.Tensor:
    rows = words.reshape(len(words) // TILE_N, 2, _ROWS_OF_A_RUN, -1, 2)
    return rows.permute(0, 3, 1, 4, 2).reshape(words.shape)
