"""The layout of the Triton kernels: a tile of words, each of whose fields is a slice of K.

The codes of a row are cut into planes of `depth` neighbours along K, and `fields` planes make a
tile. Word p of a tile holds code p of each of its planes, the first plane in the lowest field. So
one load brings a tile of K, and one mask and shift makes a plane of it: neighbours in K are
neighbours in the tensor, which is what x and a tensor core want. The words of a tile are
contiguous over all rows: (tiles, N, depth).

Planes never mix groups: a group is padded to whole planes, and to a part or a multiple of a tile.
3-bit codes are two of these layouts side by side: 2-bit codes, and their third bits.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import check_group_size
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.address_map import Address
from gemlite_edu.packing.rows_cols import WORD_DTYPES

DEPTH = 16  # of a plane: the shallowest tl.dot of 16-bit operands, one tensor-core instruction
_MOST_FIELDS = 16


@dataclass(frozen=True)
class PlaneTiles:
    """The layout of codes (N, K) of `nbits` in words of `word_bits`.

    group_size: a divisor of K; None: all of a row is one group.
    nbits: 8, 4, 2 or 1, that divides word_bits; or 3, whose words hold the two lower bits and whose
        third bits are a `PlaneTiles` of their own, `high`, with as many fields.

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

    def __post_init__(self):
        if self.nbits not in (1, 2, 3, 4, 8):
            raise ValueError(f"nbits must be 8, 4, 3, 2 or 1, got {self.nbits}")
        widths = (16, 32) if self.nbits == 3 else (8, 16, 32)
        if not isinstance(self.word_bits, int) or self.word_bits not in widths:
            raise ValueError(f"word_bits must be one of {widths}, got {self.word_bits!r}")
        if self.group_size is not None:
            check_group_size(self.group_size, self.K)

    depth = DEPTH

    @property
    def word_dtype(self):
        """The torch dtype of words."""
        return WORD_DTYPES[self.word_bits]

    @property
    def low_bits(self):
        """Bits of a field."""
        return 2 if self.nbits == 3 else self.nbits

    @property
    def fields(self):
        """Codes in a word, planes in a tile."""
        return self.word_bits // self.low_bits

    @property
    def tile(self):
        """Codes of a row in a tile."""
        return self.fields * DEPTH

    @property
    def high(self):
        """The layout of the third bits of 3-bit codes; None for other widths."""
        if self.nbits != 3:
            return None
        return PlaneTiles(1, self.K, self.group_size, self.word_bits // 2)

    @property
    def padded_group(self):
        """Codes that a group takes: whole planes, as many as divide a tile or fill some."""
        group = self.group_size or self.K
        planes = -(-group // DEPTH)
        if planes >= self.fields:
            planes = -(-planes // self.fields) * self.fields
        else:
            planes = 1 << (planes - 1).bit_length()
        return planes * DEPTH

    @property
    def padded_K(self):
        """Codes that a row takes: whole tiles."""
        codes = self.K // (self.group_size or self.K) * self.padded_group
        return -(-codes // self.tile) * self.tile

    @property
    def padded_groups(self):
        """Groups that a row takes, those of its padding included; 1 if all of it is one group."""
        return 1 if self.group_size is None else -(-self.padded_K // self.padded_group)

    def pad_groups(self, values):
        """`values` (groups, N), contiguous, with rows of 0 for the groups of the padding."""
        gap = self.padded_groups - len(values)
        return torch.nn.functional.pad(values, (0, 0, 0, gap)).contiguous()

    def shape(self, N):
        """Shape of the words of N rows: (tiles, N, DEPTH)."""
        return self.padded_K // self.tile, N, DEPTH

    def place(self, k):
        """Where code k of a row lies in the padded row."""
        group, within = divmod(k, self.group_size or self.K)
        return group * self.padded_group + within

    def locate(self, n, k):
        """The `Address` of the lower bits of W_q[n, k]: (tile * N + n is its row for N rows of n).

        row: n; col: the word of row n, counted through its tiles; shift: of the field.
        """
        plane, word = divmod(self.place(k), DEPTH)
        tile, field = divmod(plane, self.fields)
        return Address(n, tile * DEPTH + word, field * self.low_bits)

    def pad(self, values, fill=0):
        """`values` (rows, K) with `fill` where rows are padded: (rows, padded_K)."""
        if self.padded_K == self.K:
            return values
        rows, group = len(values), self.group_size or self.K
        if self.padded_group != group:
            gaps = (0, self.padded_group - group)
            values = torch.nn.functional.pad(values.reshape(rows, -1, group), gaps, value=fill)
            values = values.reshape(rows, -1)
        return torch.nn.functional.pad(values, (0, self.padded_K - values.shape[1]), value=fill)


def best_layout(nbits, K, group_size=None):
    """The `PlaneTiles` that pads least; of those that pad alike the one of the widest words.

    A kernel's text is repeated for each field, so more than 16 are left out: they take 10 s to
    compile.

    >>> best_layout(4, K=4096, group_size=128).word_bits, best_layout(2, K=96).word_bits
    (32, 16)
    """
    word_bits = (32, 16) if nbits == 3 else (32, 16, 8)
    layouts = [PlaneTiles(nbits, K, group_size, bits) for bits in word_bits]
    few = [layout for layout in layouts if layout.fields <= _MOST_FIELDS]
    return min(few, key=lambda layout: layout.padded_K)


def pack_plane_tiles(W_q, layout):
    """Pack codes (N, K) uint8 into words `layout.shape(N)` of layout.word_bits.

    For 3 bits: of the lower two; `pack_plane_tiles(W_q >> 2, layout.high)` packs the third.
    """
    check_codes(W_q, layout.nbits)
    N = len(W_q)
    dtype = layout.word_dtype
    codes = layout.pad(W_q & (1 << layout.low_bits) - 1).to(dtype)
    planes = codes.reshape(N, -1, layout.fields, DEPTH)
    words = torch.zeros(N, planes.shape[1], DEPTH, dtype=dtype, device=W_q.device)
    for field in range(layout.fields):
        words |= planes[:, :, field] << (layout.low_bits * field)
    return words.transpose(0, 1).contiguous()


def pack_with_high(W_q, layout):
    """(words of codes, words of third bits); the latter None unless codes have 3 bits."""
    high = None if layout.high is None else pack_plane_tiles(W_q >> 2, layout.high)
    return pack_plane_tiles(W_q, layout), high


def unpack_plane_tiles(words, layout):
    """The inverse of `pack_plane_tiles`: codes (N, K) uint8; of 3 bits the lower two."""
    tiles = words.transpose(0, 1)
    mask = (1 << layout.low_bits) - 1
    planes = [tiles >> (layout.low_bits * field) & mask for field in range(layout.fields)]
    padded = torch.stack(planes, dim=2).reshape(len(tiles), layout.padded_K)
    groups = layout.K // (layout.group_size or layout.K)
    grouped = padded[:, : groups * layout.padded_group].reshape(len(tiles), groups, -1)
    return grouped[:, :, : layout.group_size or layout.K].reshape(len(tiles), layout.K).byte()


@dataclass(frozen=True)
class PlainTiles:
    """The layout of weights that are not packed, (N, K) of an 8- or 16-bit type: slices of K.

    A tile is 64 bytes of each row, contiguous over all rows: (tiles, N, depth).

    >>> PlainTiles(torch.int8, K=1000).shape(N=8)
    (16, 8, 64)
    """

    dtype: torch.dtype
    K: int

    nbits = None
    group_size = None
    padded_group = None
    high = None
    fields = 1

    @property
    def depth(self):
        """Weights of a row in a tile."""
        return 64 // self.dtype.itemsize

    tile = depth

    @property
    def padded_K(self):
        """Weights that a row takes: whole tiles."""
        return -(-self.K // self.tile) * self.tile

    def shape(self, N):
        """Shape of the weights of N rows: (tiles, N, depth)."""
        return self.padded_K // self.tile, N, self.depth

    def pad(self, values, fill=0):
        """`values` (rows, K) with `fill` where rows are padded: (rows, padded_K)."""
        if values.shape[1] == self.padded_K:
            return values
        padded = values.new_full((len(values), self.padded_K), fill)
        padded[:, : self.K] = values
        return padded


def tile_plain(W, layout):
    """W (N, K) as tiles `layout.shape(N)` of the same type."""
    return layout.pad(W).reshape(len(W), -1, layout.depth).transpose(0, 1).contiguous()


def untile_plain(tiles, layout):
    """The inverse of `tile_plain`: W (N, K)."""
    N = tiles.shape[1]
    return tiles.transpose(0, 1).reshape(N, layout.padded_K)[:, : layout.K].contiguous()
