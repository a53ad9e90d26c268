"""The layout of the Triton kernels: a tile of words, in which each bit field holds a slice of K.

The layout cuts the codes of a row into planes of `depth` neighbours along K; `fields` planes make a
tile. Word p of a tile holds code p of each plane, with the first plane in the lowest field. So one
load fetches a tile of K, and one shift and mask extracts a plane. Neighbours along K are neighbours
in the resulting tensor, which is the order that x has and tensor cores need. The words of a tile
are contiguous over all rows: (tiles, N, depth).

A plane never mixes groups: each group is padded to whole planes, and to a fraction or a multiple of
a tile. 3-bit codes use two of these layouts, one for 2-bit codes and one for their third bits.
"""

import dataclasses
from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import check_group_size
from gemlite_edu.numbers.coded_weight import row_blocks
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.address_map import Address
from gemlite_edu.packing.rows_cols import WORD_DTYPES

DEPTH = 16  # codes per plane: the smallest K of a 16-bit tl.dot, one tensor-core instruction
_MOST_FIELDS = 16


@dataclass(frozen=True)
class PlaneTiles:
    """The layout of codes (N, K) of `nbits` in words of `word_bits`.

    group_size: a divisor of K; None: the whole row is one group.
    nbits: 8, 4, 2 or 1, dividing word_bits; or 3: then the words hold the two lower bits, and a
        second `PlaneTiles`, `high`, with as many fields, holds the third bits.

    >>> layout = PlaneTiles(nbits=4, K=256, group_size=128)
    >>> layout.fields, layout.tile, layout.shape(N=8)
    (8, 128, (2, 8, 16))
    >>> layout.locate(n=3, k=17)  # plane 1 of tile 0, word 1 of row 3
    Address(row=3, col=1, shift=4)
    """

    nbits: int
    K: int
    group_size: int | None = None
    word_bits: int = 32
    low_bits: int = dataclasses.field(init=False, repr=False, compare=False)  # of a field
    fields: int = dataclasses.field(
        init=False, repr=False, compare=False
    )  # codes in a word, planes in a tile
    tile: int = dataclasses.field(init=False, repr=False, compare=False)  # codes of a row in a tile
    padded_group: int = dataclasses.field(
        init=False, repr=False, compare=False
    )  # codes that a group takes
    padded_K: int = dataclasses.field(
        init=False, repr=False, compare=False
    )  # codes that a row takes: tiles

    def __post_init__(self) -> None:
        if self.nbits not in (1, 2, 3, 4, 8):
            raise ValueError(f"nbits must be 8, 4, 3, 2 or 1, got {self.nbits}")
        widths = (16, 32) if self.nbits == 3 else (8, 16, 32)
        if not isinstance(self.word_bits, int) or self.word_bits not in widths:
            raise ValueError(f"word_bits must be one of {widths}, got {self.word_bits!r}")
        if self.group_size is not None:
            check_group_size(self.group_size, self.K)
        low_bits = 2 if self.nbits == 3 else self.nbits
        fields = self.word_bits // low_bits
        tile, padded_group = fields * DEPTH, _padded(self.group_size or self.K, fields)
        codes = self.K // (self.group_size or self.K) * padded_group
        sizes = dict(low_bits=low_bits, fields=fields, tile=tile, padded_group=padded_group)
        for name, size in {**sizes, "padded_K": -(-codes // tile) * tile}.items():
            object.__setattr__(self, name, size)

    depth = DEPTH

    @property
    def word_dtype(self) -> torch.dtype:
        """The torch dtype of a word."""
        return WORD_DTYPES[self.word_bits]

    @property
    def high(self) -> "PlaneTiles | None":
        """The layout of the third bits of 3-bit codes; None for other widths."""
        if self.nbits != 3:
            return None
        return PlaneTiles(1, self.K, self.group_size, self.word_bits // 2)

    @property
    def padded_groups(self) -> int:
        """Groups per row, including those of the padding; 1 if the whole row is one group."""
        return 1 if self.group_size is None else -(-self.padded_K // self.padded_group)

    def pad_groups(self, values: torch.Tensor) -> torch.Tensor:
        """`values` (groups, N), made contiguous, with rows of 0 for the groups of the padding."""
        gap = self.padded_groups - len(values)
        return torch.nn.functional.pad(values, (0, 0, 0, gap)).contiguous()

    def shape(self, N: int) -> tuple[int, int, int]:
        """Shape of the words of N rows: (tiles, N, DEPTH)."""
        return self.padded_K // self.tile, N, DEPTH

    def place(self, k: int) -> int:
        """The position of code k in the padded row."""
        group, within = divmod(k, self.group_size or self.K)
        return group * self.padded_group + within

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of the lower bits of W_q[n, k].

        row: n; col: the word of row n, counted through its tiles; shift: the shift of the field. In
        the words of N rows, viewed as (tiles * N, depth), the row is tile * N + n.
        """
        plane, word = divmod(self.place(k), DEPTH)
        tile, field = divmod(plane, self.fields)
        return Address(n, tile * DEPTH + word, field * self.low_bits)

    def pad(self, values: torch.Tensor, fill: int = 0) -> torch.Tensor:
        """Pad `values` (rows, K) with `fill` to (rows, padded_K), as the layout pads its rows."""
        if self.padded_K == self.K:
            return values
        rows, group = len(values), self.group_size or self.K
        if self.padded_group != group:
            gaps = (0, self.padded_group - group)
            values = torch.nn.functional.pad(values.reshape(rows, -1, group), gaps, value=fill)
            values = values.reshape(rows, -1)
        return torch.nn.functional.pad(values, (0, self.padded_K - values.shape[1]), value=fill)

    def unpad(self, values: torch.Tensor) -> torch.Tensor:
        """The inverse of `pad`: (rows, K) from (rows, padded_K)."""
        rows, group = len(values), self.group_size or self.K
        groups = self.K // group
        grouped = values[:, : groups * self.padded_group].reshape(rows, groups, -1)
        return grouped[:, :, :group].reshape(rows, self.K)


def _padded(group: int, fields: int) -> int:
    """Codes that a group takes: whole planes, as many as divide a tile or fill some."""
    planes = -(-group // DEPTH)
    if planes >= fields:
        planes = -(-planes // fields) * fields
    else:
        planes = 1 << (planes - 1).bit_length()
    return planes * DEPTH


def best_layout(nbits: int, K: int, group_size: int | None = None) -> PlaneTiles:
    """The `PlaneTiles` that pads least; if several pad equally, the one with the widest words.

    A kernel unrolls its code for each field, so layouts with more than 16 fields are left out: such
    a kernel takes 10 s to compile.

    >>> best_layout(4, K=4096, group_size=128).word_bits, best_layout(2, K=96).word_bits
    (32, 16)
    """
    word_bits = (32, 16) if nbits == 3 else (32, 16, 8)
    layouts = [PlaneTiles(nbits, K, group_size, bits) for bits in word_bits]
    few = [layout for layout in layouts if layout.fields <= _MOST_FIELDS]
    return min(few, key=lambda layout: layout.padded_K)


def pack_plane_tiles(W_q: torch.Tensor, layout: PlaneTiles) -> torch.Tensor:
    """Pack codes (N, K) uint8 into words of shape `layout.shape(N)` and `layout.word_bits` bits.

    For 3-bit codes it packs the lower two bits; `pack_plane_tiles(W_q >> 2, layout.high)` packs the
    third.
    """
    check_codes(W_q, layout.nbits)
    of_rows = [_packed_rows(W_q[rows], layout) for rows in row_blocks(*W_q.shape)]
    return torch.cat(of_rows).transpose(0, 1).contiguous()


def _packed_rows(W_q: torch.Tensor, layout: PlaneTiles) -> torch.Tensor:
    """The words of a few rows, (rows, tiles, DEPTH): codes as wide as words would fill memory."""
    dtype = layout.word_dtype
    codes = layout.pad(W_q & (1 << layout.low_bits) - 1).to(dtype)
    planes = codes.reshape(len(W_q), -1, layout.fields, DEPTH)
    words = torch.zeros(len(W_q), planes.shape[1], DEPTH, dtype=dtype, device=W_q.device)
    for field in range(layout.fields):
        words |= planes[:, :, field] << field * layout.low_bits
    return words


def pack_with_high(
    W_q: torch.Tensor, layout: PlaneTiles
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(words of the codes, words of the third bits); the latter is None unless nbits is 3."""
    high = None if layout.high is None else pack_plane_tiles(W_q >> 2, layout.high)
    return pack_plane_tiles(W_q, layout), high


def unpack_plane_tiles(words: torch.Tensor, layout: PlaneTiles) -> torch.Tensor:
    """The inverse of `pack_plane_tiles`: codes (N, K) uint8; for 3 bits, the lower two bits."""
    tiles = words.transpose(0, 1)
    mask = (1 << layout.low_bits) - 1
    planes = [tiles >> field * layout.low_bits & mask for field in range(layout.fields)]
    return layout.unpad(torch.stack(planes, dim=2).reshape(len(tiles), layout.padded_K)).byte()


def unpack_with_high(
    words: torch.Tensor, high: torch.Tensor | None, layout: PlaneTiles
) -> torch.Tensor:
    """The inverse of `pack_with_high`: codes (N, K) uint8."""
    codes = unpack_plane_tiles(words, layout)
    if high is None or layout.high is None:
        return codes
    return codes | unpack_plane_tiles(high, layout.high) << 2
