"""Store 3-bit codes as a plane of 2 bits and a plane of 1 bit, so that no bit of a word is idle.

Ten 3-bit codes fill only 30 bits of a word, but 2 and 1 divide 32. A tile stores 1024 codes of a
row in 96 words: two tiles of the 2-bit layout (`WarpInterleaved`) hold the two low bits of each
code, then one tile of the 1-bit layout holds the high bits. A lane reads three words, each next to
its neighbour's, for its 32 codes k = lane, lane + 32, ... of the tile. In both planes the first
code is the most significant.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.address_map import Address, check_words
from gemlite_edu.packing.warp_interleaved import (
    WARP_SIZE,
    WarpInterleaved,
    pack_warped_int32,
    unpack_warped_int32,
)

NBITS = 3
_LOW, _HIGH = WarpInterleaved(2), WarpInterleaved(1)
_LOW_TILES = _HIGH.tile // _LOW.tile  # in a tile of this layout


@dataclass(frozen=True)
class BitPlanes3:
    """The address map: `locate` returns the address of the low bits and that of the high bit.

    >>> BitPlanes3().locate(n=0, k=33)
    (Address(row=0, col=1, shift=28), Address(row=0, col=65, shift=30))
    """

    nbits = NBITS
    planes = (_LOW.nbits, _HIGH.nbits)  # bits of a code in each plane, from the lowest up
    tile = _HIGH.tile
    words_in_tile = (_LOW_TILES + 1) * WARP_SIZE

    def padded_K(self, K: int) -> int:
        """K rounded up to whole tiles; codes from K on are 0."""
        return -(-K // self.tile) * self.tile

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words of an (N, K) matrix."""
        return N, self.padded_K(K) // self.tile * self.words_in_tile

    def locate(self, n: int, k: int) -> tuple[Address, Address]:
        """(`Address` of the two low bits, `Address` of the high bit) of code W_q[n, k]."""
        tile, inside = divmod(k, self.tile)
        low, high = _LOW.locate(n, inside), _HIGH.locate(n, inside)
        first = tile * self.words_in_tile
        return (
            Address(n, first + low.col, low.shift),
            Address(n, first + _LOW_TILES * WARP_SIZE + high.col, high.shift),
        )


def pack_3bit_planes(W_q: torch.Tensor) -> torch.Tensor:
    """Pack 3-bit codes (N, K) uint8 into int32 words, `BitPlanes3().packed_shape(N, K)`.

    Any N and K; rows are padded with code 0 to whole tiles. Raises TypeError or ValueError for
    codes of the wrong dtype, rank or range.

    >>> pack_3bit_planes(torch.full((1, 1024), 7, dtype=torch.uint8)).unique().tolist()
    [-1]
    """
    check_codes(W_q, NBITS)
    N, K = W_q.shape
    padded = torch.nn.functional.pad(W_q, (0, BitPlanes3().padded_K(K) - K))
    low = pack_warped_int32(padded & 3, _LOW.nbits).reshape(N, -1, _LOW_TILES * WARP_SIZE)
    high = pack_warped_int32(padded >> 2, _HIGH.nbits).reshape(N, -1, WARP_SIZE)
    return torch.cat([low, high], dim=2).flatten(1)


def unpack_3bit_planes(W_packed: torch.Tensor, K: int) -> torch.Tensor:
    """The inverse of `pack_3bit_planes`: int32 words back to codes (N, K) uint8."""
    check_words(W_packed, BitPlanes3(), K)
    words = W_packed.reshape(len(W_packed), -1, BitPlanes3.words_in_tile)
    low, high = words.split([_LOW_TILES * WARP_SIZE, WARP_SIZE], dim=2)
    low = unpack_warped_int32(low.flatten(1), _LOW.nbits, BitPlanes3().padded_K(K))
    high = unpack_warped_int32(high.flatten(1), _HIGH.nbits, BitPlanes3().padded_K(K))
    return (low | high << 2)[:, :K].contiguous()
