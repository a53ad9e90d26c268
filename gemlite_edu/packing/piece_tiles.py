"""The layout of codes of 3, 5, 6 and 7 bits for the fast CUDA kernels: no bit is idle.

A code is cut into pieces, whose widths are the powers of two that add up to its own, the largest in
the lowest bits: 7 bits into 4, 2 and 1. Each piece has the layout of `plane_tiles`, in the order of
fields in which a kernel joins the pieces again with one shift and one mask per register of codes.

A tile is the codes of a row that fill the words of the smallest piece. The words of a tile are
contiguous over all rows and pieces: first the words of the largest piece of all rows, then those of
the next piece.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.plane_tiles import (
    DEPTH,
    PlaneTiles,
    pack_plane_tiles,
    unpack_plane_tiles,
)

_WORD_BITS = 32  # of W_packed
_LEAST_WORD_BITS = 16  # of the words of the smallest piece, which holds a tile


class Piece(NamedTuple):
    """Some bits of each code: from bit `first_bit` on, as many as its `PlaneTiles` has."""

    first_bit: int
    layout: PlaneTiles


@dataclass(frozen=True)
class PieceTiles:
    """The layout of codes (N, K) of 3, 5, 6 or 7 bits, in 32-bit words.

    group_size: a divisor of K; None: the whole row is one group.

    >>> layout = PieceTiles(nbits=3, K=512, group_size=128)
    >>> [piece.layout.nbits for piece in layout.pieces], layout.field_bits
    ([2, 1], 4)
    >>> layout.tile, layout.shape(N=8)
    (256, (2, 8, 24))
    """

    nbits: int
    K: int
    group_size: int | None = None

    word_dtype = torch.int32
    high = None  # no piece lies in a tensor of its own

    def __post_init__(self):
        if self.nbits not in (3, 5, 6, 7):
            raise ValueError(f"nbits must be 7, 6, 5 or 3, got {self.nbits}")
        self._least  # noqa: B018  raises for a group_size that does not divide K

    @property
    def field_bits(self):
        """Width of the fields in which a kernel joins the pieces."""
        return 4 if self.nbits < 4 else 8

    @cached_property
    def _least(self):
        """The layout of the smallest piece, which decides about tiles and padding."""
        nbits = self.nbits & -self.nbits
        return PlaneTiles(nbits, self.K, self.group_size, _LEAST_WORD_BITS, self.field_bits)

    @cached_property
    def pieces(self):
        """The `Piece`s, from the lowest bits up; their layouts are of whole rows of padded_K."""
        widths = [width for width in (4, 2, 1) if self.nbits & width]
        return tuple(Piece(self.nbits & -2 * width, self._of(width)) for width in widths)

    def _of(self, width):
        word_bits = min(self.tile // DEPTH * width, _WORD_BITS)
        return PlaneTiles(width, self.padded_K, None, word_bits, self.field_bits)

    @property
    def tile(self):
        """Codes of a row in a tile."""
        return self._least.tile

    @property
    def padded_group(self):
        """Codes that a group takes."""
        return self._least.padded_group

    @property
    def padded_K(self):
        """Codes that a row takes: tiles."""
        return self._least.padded_K

    @property
    def padded_groups(self):
        """Groups per row, including those of the padding; 1 if the whole row is one group."""
        return self._least.padded_groups

    def pad_groups(self, values):
        """`values` (groups, N), made contiguous, with rows of 0 for the groups of the padding."""
        return self._least.pad_groups(values)

    def pad(self, values, fill=0):
        """Pad `values` (rows, K) with `fill` to (rows, padded_K), as the layout pads its rows."""
        return self._least.pad(values, fill)

    def unpad(self, values):
        """The inverse of `pad`: (rows, K) from (rows, padded_K)."""
        return self._least.unpad(values)

    def place(self, k):
        """The position of code k in the padded row."""
        return self._least.place(k)

    def shape(self, N):
        """Shape of the words of N rows: (tiles, N, words of a row in a tile).

        In memory the words of a row lie together within a piece only.
        """
        return self.padded_K // self.tile, N, self.nbits * self.tile // _WORD_BITS

    def of_pieces(self, words):
        """Views of the words of each piece in W_packed, shaped as its `PlaneTiles` has them."""
        tiles, N, _ = words.shape
        bytes_of_tiles, found = words.view(tiles, -1).view(torch.uint8), []
        for first_bit, layout in self.pieces:
            first, size = (N * self.tile * bits // 8 for bits in (first_bit, layout.nbits))
            part = bytes_of_tiles[:, first : first + size].view(layout.word_dtype)
            found.append(part.view(tiles, -1, N, DEPTH))
        return found


def pack_piece_tiles(W_q, layout):
    """Pack codes (N, K) uint8 into words (int32) of shape `layout.shape(N)`."""
    check_codes(W_q, layout.nbits)
    padded, (tiles, *of_tile) = layout.pad(W_q), layout.shape(len(W_q))
    parts = []
    for first_bit, of_piece in layout.pieces:
        words = pack_plane_tiles(padded >> first_bit & (1 << of_piece.nbits) - 1, of_piece)
        parts.append(words.view(tiles, -1).view(layout.word_dtype))
    return torch.cat(parts, dim=1).view(tiles, *of_tile)


def unpack_piece_tiles(words, layout):
    """The inverse of `pack_piece_tiles`: codes (N, K) uint8."""
    N, padded = words.shape[1], 0
    for (first_bit, of_piece), part in zip(layout.pieces, layout.of_pieces(words), strict=True):
        codes = unpack_plane_tiles(part.reshape(-1, N, DEPTH), of_piece)
        padded = padded | codes << first_bit
    return layout.unpad(padded)
