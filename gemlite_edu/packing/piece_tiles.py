"""The layout of codes of 3, 5, 6 and 7 bits for the fast CUDA kernels: no bit is idle.

As in `plane_tiles`, the codes of a row are cut into planes of 16 neighbours along K, and the planes
of a tile share words. Here these are halves, words of 16 bits. A half holds as many whole codes as
fit, from the lowest bits up, one of each of as many planes. The bits left at its top hold pieces of
the codes of the last planes: the rests of all halves, one after the other, are those codes.

    3 bits  5 codes in each of 3 halves, 1 bit left: 1 code in three pieces
    5 bits  3 codes in each of 5 halves, 1 bit left: 1 code in five pieces
    6 bits  2 codes in each of 3 halves, 4 bits left: 2 codes in two pieces each
    7 bits  2 codes in each of 7 halves, 2 bits left: 2 codes in four pieces each

The words of a tile are contiguous over all rows: first two halves of all rows, then the next two,
and at last one. Of two halves a row has, for every four neighbours along K, four words of the first
and four of the second: what a lane of a kernel loads at once.
"""

from dataclasses import dataclass
from functools import cached_property

import torch

from gemlite_edu.numbers.coded_weight import row_blocks
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.plane_tiles import DEPTH, PlaneTiles

_WORD_BITS = 32  # of W_packed
_HALF_BITS = 16
_LANES = 4  # that share out a plane of a row


@dataclass(frozen=True)
class PieceTiles:
    """The layout of codes (N, K) of 3, 5, 6 or 7 bits, in 32-bit words.

    group_size: a divisor of K; None: the whole row is one group.

    >>> layout = PieceTiles(nbits=3, K=512, group_size=128)
    >>> layout.halves, layout.whole_codes, layout.rest_bits
    (3, 5, 1)
    >>> layout.tile, layout.shape(N=8)
    (256, (2, 8, 24))
    """

    nbits: int
    K: int
    group_size: int | None = None

    word_dtype = torch.int32
    high = None  # no piece lies in a tensor of its own

    def __post_init__(self) -> None:
        if self.nbits not in (3, 5, 6, 7):
            raise ValueError(f"nbits must be 7, 6, 5 or 3, got {self.nbits}")
        self._least  # noqa: B018  raises for a group_size that does not divide K

    @cached_property
    def _least(self) -> PlaneTiles:
        """The layout that pads alike: of words that the codes of one tile fill up to a half."""
        return PlaneTiles(self.nbits & -self.nbits, self.K, self.group_size, _HALF_BITS)

    @property
    def whole_codes(self) -> int:
        """Whole codes in a half."""
        return _HALF_BITS // self.nbits

    @property
    def rest_bits(self) -> int:
        """Bits of a half that hold a piece of a code."""
        return _HALF_BITS % self.nbits

    @property
    def planes(self) -> int:
        """Planes in a tile."""
        return self.tile // DEPTH

    @property
    def halves(self) -> int:
        """Halves in a tile for each place in a plane."""
        return self.planes * self.nbits // _HALF_BITS

    @property
    def tile(self) -> int:
        """Codes of a row in a tile."""
        return self._least.tile

    @property
    def padded_group(self) -> int:
        """Codes that a group takes."""
        return self._least.padded_group

    @property
    def padded_K(self) -> int:
        """Codes that a row takes: tiles."""
        return self._least.padded_K

    @property
    def padded_groups(self) -> int:
        """Groups per row, including those of the padding; 1 if the whole row is one group."""
        return self._least.padded_groups

    def pad_groups(self, values: torch.Tensor) -> torch.Tensor:
        """`values` (groups, N), made contiguous, with rows of 0 for the groups of the padding."""
        return self._least.pad_groups(values)

    def pad(self, values: torch.Tensor, fill: int = 0) -> torch.Tensor:
        """Pad `values` (rows, K) with `fill` to (rows, padded_K), as the layout pads its rows."""
        return self._least.pad(values, fill)

    def unpad(self, values: torch.Tensor) -> torch.Tensor:
        """The inverse of `pad`: (rows, K) from (rows, padded_K)."""
        return self._least.unpad(values)

    def place(self, k: int) -> int:
        """The position of code k in the padded row."""
        return self._least.place(k)

    def shape(self, N: int) -> tuple[int, int, int]:
        """Shape of the words of N rows: (tiles, N, words of a row in a tile).

        In memory a row's words of two halves lie together, not those of all.
        """
        return self.padded_K // self.tile, N, self.nbits * self.tile // _WORD_BITS

    @property
    def bits_of_rests(self) -> list[tuple[int, int, int, int]]:
        """Of each bit in the rests: (half, place in it, plane of its code, place in the code)."""
        places = []
        for bit in range(self.halves * self.rest_bits):
            half, in_rest = divmod(bit, self.rest_bits)
            code, in_code = divmod(bit, self.nbits)
            plane = self.halves * self.whole_codes + code
            places.append((half, _HALF_BITS - self.rest_bits + in_rest, plane, in_code))
        return places


def pack_piece_tiles(W_q: torch.Tensor, layout: PieceTiles) -> torch.Tensor:
    """Pack codes (N, K) uint8 into words (int32) of shape `layout.shape(N)`."""
    check_codes(W_q, layout.nbits)
    of_rows = [_halves_of(W_q[rows], layout) for rows in row_blocks(*W_q.shape)]
    return _in_order_of_loads(torch.cat(of_rows, dim=1)).view(layout.shape(len(W_q)))


def _halves_of(W_q: torch.Tensor, layout: PieceTiles) -> torch.Tensor:
    """The halves (tiles, rows, halves, DEPTH) of a few rows, int16."""
    planes = layout.pad(W_q).view(len(W_q), -1, layout.planes, DEPTH).transpose(0, 1).short()
    halves = planes.new_zeros(len(planes), len(W_q), layout.halves, DEPTH)
    for code in range(layout.whole_codes):
        of_halves = slice(code, layout.halves * layout.whole_codes, layout.whole_codes)
        halves |= planes[:, :, of_halves] << code * layout.nbits
    for half, place, plane, in_code in layout.bits_of_rests:
        halves[:, :, half] |= (planes[:, :, plane] >> in_code & 1) << place
    return halves


def unpack_piece_tiles(words: torch.Tensor, layout: PieceTiles) -> torch.Tensor:
    """The inverse of `pack_piece_tiles`: codes (N, K) uint8."""
    tiles, N, _ = words.shape
    halves = _in_order_of_halves(words.reshape(tiles, -1), N, layout.halves)
    planes, mask = halves.new_zeros(tiles, N, layout.planes, DEPTH), (1 << layout.nbits) - 1
    for code in range(layout.whole_codes):
        of_halves = slice(code, layout.halves * layout.whole_codes, layout.whole_codes)
        planes[:, :, of_halves] = halves >> code * layout.nbits & mask
    for half, place, plane, in_code in layout.bits_of_rests:
        planes[:, :, plane] |= (halves[:, :, half] >> place & 1) << in_code
    return layout.unpad(planes.transpose(0, 1).reshape(N, layout.padded_K)).byte()


def _in_order_of_loads(halves: torch.Tensor) -> torch.Tensor:
    """Halves (tiles, N, halves, DEPTH) int16 as the words (tiles, words) int32 of all rows."""
    tiles, loads = len(halves), halves.split(2, dim=2)
    by_lane = [load.unflatten(3, (_LANES, -1)).transpose(2, 3) for load in loads]
    return torch.cat([load.reshape(tiles, -1) for load in by_lane], dim=1).view(torch.int32)


def _in_order_of_halves(words: torch.Tensor, N: int, halves: int) -> torch.Tensor:
    """The inverse of `_in_order_of_loads`."""
    tiles, counts = len(words), [2] * (halves // 2) + [1]
    loads = words.view(torch.int16).split([N * count * DEPTH for count in counts], dim=1)
    by_lane = [
        load.reshape(tiles, N, _LANES, count, -1).transpose(2, 3)
        for load, count in zip(loads, counts, strict=True)
    ]
    return torch.cat([load.reshape(tiles, N, -1, DEPTH) for load in by_lane], dim=2)
