"""BitNet's layout of 2-bit codes: a kernel reads adjacent codes and unpacks them into bytes.

Three steps lead from a code to its bits. Rows and columns are cut into tiles of 16 x 32, stored one
after the other along a row of tiles. A tile is 32 words of 16 codes, which are neighbours along k
in one row: rows 0 to 7 at k = 0 to 15, then at 16 to 31, then rows 8 to 15 likewise. In a word,
code e occupies bits 2 (e // 4) and up of byte e % 4:

    k = 15 11 7 3   14 10 6 2   13 9 5 1   12 8 4 0        most significant bits on the left

so `word >> 2 * i & 0x03030303` yields the codes 4 i to 4 i + 3, one per byte.
Source: microsoft/BitNet, gpu/pack_weight.py, which M-iki/BitMedViT also uses.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.address_map import Address, check_words

TILE_N, TILE_K = 16, 32
CODES_OF_A_WORD = 16
_ROWS_OF_A_RUN = 8
_WORDS_OF_A_TILE = TILE_N * TILE_K // CODES_OF_A_WORD
_SHIFTS = [8 * (e % 4) + 2 * (e // 4) for e in range(CODES_OF_A_WORD)]


@dataclass(frozen=True)
class Bitnet2Bit:
    """The address map for rows of K codes; an address refers to the words of `packed_shape`.

    >>> Bitnet2Bit(K=64).locate(n=1, k=17)
    Address(row=2, col=1, shift=8)
    """

    K: int

    nbits = 2

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words, in whole tiles: (N rounded up to 16, K rounded up to 32, over 16)."""
        if K != self.K:
            raise ValueError(f"this layout is of rows of {self.K} codes, got K = {K}")
        return -(-N // TILE_N) * TILE_N, self._tiles_of_a_row * TILE_K // CODES_OF_A_WORD

    @property
    def _tiles_of_a_row(self) -> int:
        return -(-self.K // TILE_K)

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        if n < 0 or not 0 <= k < self.K:
            raise ValueError(f"n starts at 0 and k ends before {self.K}, got ({n}, {k})")
        tile, in_tile_n, in_tile_k = self._tile_of(n, k)
        word, code = word_of_tile(in_tile_n, in_tile_k)
        at = tile * _WORDS_OF_A_TILE + word
        row, col = divmod(at, self._tiles_of_a_row * TILE_K // CODES_OF_A_WORD)
        return Address(row, col, _SHIFTS[code])

    def _tile_of(self, n: int, k: int) -> tuple[int, int, int]:
        """(tile number, row in the tile, column in the tile)."""
        tile = n // TILE_N * self._tiles_of_a_row + k // TILE_K
        return tile, n % TILE_N, k % TILE_K


def word_of_tile(n: int, k: int) -> tuple[int, int]:
    """(word, position in the word) of the code at row n and column k of a tile.

    >>> word_of_tile(0, 15), word_of_tile(7, 0), word_of_tile(0, 16), word_of_tile(8, 0)
    ((0, 15), (7, 0), (8, 0), (16, 0))
    """
    run, row = divmod(n, _ROWS_OF_A_RUN)
    half, code = divmod(k, CODES_OF_A_WORD)
    return (2 * run + half) * _ROWS_OF_A_RUN + row, code


def pack_bitnet_2bit(W_q: torch.Tensor) -> torch.Tensor:
    """Pack codes (N, K) uint8 below 4 into int32 words, `Bitnet2Bit(K).packed_shape(N, K)`.

    N and K may have any size; the padding of the last tiles is 0. BitNet stores a view of these
    words as bytes, (N, K / 4). Raises TypeError or ValueError for other codes.

    >>> W_q = torch.arange(16, dtype=torch.uint8).remainder(4).reshape(1, 16)
    >>> hex(int(pack_bitnet_2bit(W_q)[0, 0]) & 0xFFFFFFFF)
    '0xffaa5500'
    """
    check_codes(W_q, Bitnet2Bit.nbits)
    N, K = W_q.shape
    padded = torch.nn.functional.pad(W_q, (0, -K % TILE_K, 0, -N % TILE_N)).to(torch.int32)
    runs = padded.reshape(-1, 2, _ROWS_OF_A_RUN, padded.shape[1] // TILE_K, 2, CODES_OF_A_WORD)
    codes = runs.permute(0, 3, 1, 4, 2, 5)
    words = torch.zeros_like(codes[..., 0])
    for code, shift in enumerate(_SHIFTS):
        words |= codes[..., code] << shift
    return words.reshape(Bitnet2Bit(K).packed_shape(N, K))


def unpack_bitnet_2bit(W_packed: torch.Tensor, N: int, K: int) -> torch.Tensor:
    """The inverse of `pack_bitnet_2bit`: int32 words to codes (N, K) uint8."""
    check_words(W_packed, Bitnet2Bit(K), K, N)
    codes = torch.stack([W_packed.flatten() >> shift & 3 for shift in _SHIFTS], dim=1)
    tiles = codes.reshape(-1, -(-K // TILE_K), 2, 2, _ROWS_OF_A_RUN, CODES_OF_A_WORD)
    padded = tiles.permute(0, 2, 4, 1, 3, 5).reshape(-(-N // TILE_N) * TILE_N, -1)
    return padded[:N, :K].to(torch.uint8).contiguous()
