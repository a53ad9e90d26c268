"""GemLite's int32 layout for CUDA: the 32 lanes of a warp read 32 neighbouring words.

The layout cuts a row into tiles of 32 * pack_factor codes. Word `lane` of a tile holds the codes
k = lane, lane + 32, lane + 64, ... of that tile, with the first one in the most significant field.
So one coalesced load of 32 words feeds a warp, and field j of all lanes meets 32 neighbours of x.
Source: GemLite (CUDA version), `pack_warped_int32`.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.quantize import check_codes, check_nbits
from gemlite_edu.packing.address_map import Address, check_words

WARP_SIZE = 32
WORD_BITS = 32


@dataclass(frozen=True)
class WarpInterleaved:
    """The address map for `nbits` from 1 to 8.

    Widths that do not divide 32 leave `idle_bits` zero bits at the low end of each word.

    >>> WarpInterleaved(4).locate(n=0, k=33)
    Address(row=0, col=1, shift=24)
    >>> WarpInterleaved(3).pack_factor, WarpInterleaved(3).idle_bits
    (10, 2)
    """

    nbits: int

    def __post_init__(self) -> None:
        check_nbits(self.nbits)

    @property
    def pack_factor(self) -> int:
        """Codes per word."""
        return WORD_BITS // self.nbits

    @property
    def idle_bits(self) -> int:
        """Bits per word that hold no code."""
        return WORD_BITS - self.nbits * self.pack_factor

    @property
    def tile(self) -> int:
        """Codes per tile: one word for each lane of a warp."""
        return WARP_SIZE * self.pack_factor

    def padded_K(self, K: int) -> int:
        """K rounded up to whole tiles; codes from K on are 0."""
        return -(-K // self.tile) * self.tile

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words of an (N, K) matrix."""
        return N, self.padded_K(K) // self.pack_factor

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        if n < 0 or k < 0:
            raise ValueError(f"n and k start at 0, got ({n}, {k})")
        field, lane = divmod(k % self.tile, WARP_SIZE)
        col = k // self.tile * WARP_SIZE + lane
        return Address(n, col, WORD_BITS - self.nbits * (field + 1))


def pack_warped_int32(W_q: torch.Tensor, nbits: int) -> torch.Tensor:
    """Pack codes (N, K) uint8 into int32 words, `WarpInterleaved(nbits).packed_shape(N, K)`.

    Any N and K; rows are padded with code 0 to whole tiles. Raises TypeError or ValueError for
    codes of the wrong dtype, rank or range.

    >>> hex(pack_warped_int32(torch.full((1, 256), 5, dtype=torch.uint8), nbits=4)[0, 0])
    '0x55555555'
    """
    layout = WarpInterleaved(nbits)
    check_codes(W_q, nbits)
    N, K = W_q.shape
    padded = torch.nn.functional.pad(W_q, (0, layout.padded_K(K) - K)).to(torch.int32)
    tiles = padded.reshape(N, -1, layout.pack_factor, WARP_SIZE)
    words = torch.zeros(N, tiles.shape[1], WARP_SIZE, dtype=torch.int32, device=W_q.device)
    for field in range(layout.pack_factor):
        words |= tiles[:, :, field] << (32 - nbits * (field + 1))
    return words.reshape(layout.packed_shape(N, K))


def unpack_warped_int32(W_packed: torch.Tensor, nbits: int, K: int) -> torch.Tensor:
    """The inverse of `pack_warped_int32`: int32 words back to codes (N, K) uint8."""
    layout = WarpInterleaved(nbits)
    check_words(W_packed, layout, K)
    N = len(W_packed)
    tiles = W_packed.reshape(N, -1, 1, WARP_SIZE)
    shifts = torch.tensor(
        [32 - nbits * (field + 1) for field in range(layout.pack_factor)], device=W_packed.device
    )
    codes = (tiles >> shifts.to(torch.int32).view(1, 1, -1, 1)) & (2**nbits - 1)
    return codes.reshape(N, -1)[:, :K].to(torch.uint8).contiguous()
