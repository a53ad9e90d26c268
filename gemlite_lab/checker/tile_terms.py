"""A GEMV over pairs of tiles as a list of terms, for models of wrong kernels."""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.packing.plane_tiles import DEPTH
from gemlite_lab.checker.tiled_cases import TiledCase


@dataclass(frozen=True)
class Term:
    """What a kernel adds up for one tile: s (products * sum(q x) - zeros * z * sum(x)).

    words, high: the tiles that the codes come from, and the third bits of 3-bit codes.
    x_at: the k at which its x begins. groups: (FIELDS,), the group of each plane; None: s is 1.
    """

    words: int
    high: int
    x_at: int
    groups: torch.Tensor | None
    products: float = 1.0
    zeros: float = 1.0


@dataclass(frozen=True)
class Step:
    """One tile of the loop: role "first" or "second" of its pair, or "left over".

    turn: number of the pair in its chunk. pair: the pair's first tile.
    """

    role: str
    tile: int
    pair: int
    turn: int
    chunk: int


@dataclass(frozen=True)
class Tiles:
    """A case as gemv_revsplitk meets it: codes (N, T, FIELDS, DEPTH), x (M, padded K)."""

    case: TiledCase
    codes: torch.Tensor
    x: torch.Tensor
    scales: torch.Tensor  # (N, groups)
    zeros: torch.Tensor

    @classmethod
    def of(cls, case):
        layout = case.layout
        codes = layout.pad(case.W_q).double().reshape(len(case.W_q), -1, layout.fields, DEPTH)
        x = layout.pad(case.x).double()
        return cls(case, codes, x, case.scales.double(), case.zeros.double())

    @property
    def size(self):
        """Codes of a tile."""
        return self.codes[0, 0].numel()

    @property
    def tiles(self):
        """How many a row has."""
        return self.codes.shape[1]

    @property
    def group(self):
        """Codes that a group takes; all of a row if it is one group."""
        layout = self.case.layout
        return layout.padded_K if layout.group_size is None else layout.padded_group

    @property
    def is_shared(self):
        """Whether the two tiles of a pair lie in one group."""
        return self.case.layout.group_size is None or self.group % (2 * self.size) == 0

    @property
    def chunks(self):
        """[(first tile, first tile beyond)] of the chunks that have tiles."""
        pairs = -(-self.tiles // 2)
        of_a_chunk = -(-pairs // self.case.chunks) * 2
        return [(f, min(f + of_a_chunk, self.tiles)) for f in range(0, self.tiles, of_a_chunk)]

    def groups(self, tile):
        """(FIELDS,): the group of each plane of a tile."""
        planes = torch.arange(self.codes.shape[2]) + tile * self.codes.shape[2]
        return planes * DEPTH // self.group

    def group_0(self):
        """(FIELDS,): group 0 for each plane."""
        return 0 * self.groups(0)

    def steps(self, pair_by=2):
        """All `Step`s; pair_by: how far apart pairs begin."""
        found = []
        for chunk, (first, last) in enumerate(self.chunks):
            for turn, tile in enumerate(range(first, last - 1, pair_by)):
                found.append(Step("first", tile, tile, turn, chunk))
                found.append(Step("second", tile + 1, tile, turn, chunk))
            if (last - first) % 2:
                found.append(self.left_over(last - 1, chunk))
        return found

    def left_over(self, tile, chunk):
        """The step of a tile without a partner."""
        return Step("left over", tile, tile, self.tiles, chunk)

    def right(self, step):
        """The `Term` of a step, as it should be."""
        return Term(step.tile, step.tile, step.tile * self.size, self.groups(step.tile))

    def changed(self, change, roles=("first", "second"), steps=None):
        """y if steps of these roles add `change(step, right term)`: a term, terms, or None."""
        terms = []
        for step in self.steps() if steps is None else steps:
            term = self.right(step)
            made = change(step, term) if step.role in roles else term
            terms += made if isinstance(made, list) else [] if made is None else [made]
        return self.output(terms)

    def output(self, terms):
        """y (M, N) float32 of these terms."""
        y = torch.zeros(len(self.x), len(self.codes), dtype=torch.float64)
        for term in terms:
            y += self._value(term)
        return y.float()

    def _value(self, term):
        x = self.x[:, term.x_at : term.x_at + self.size]
        x = torch.nn.functional.pad(x, (0, self.size - x.shape[1]))
        x = x.reshape(len(x), 1, -1, DEPTH)
        codes = self.codes[:, term.words]
        if term.high != term.words:
            codes = codes % 4 + self.codes[:, term.high] // 4 * 4
        dots = term.products * (codes * x).sum(-1)
        if term.groups is None:
            return dots.sum(-1)
        scales, zeros = self.scales[:, term.groups], self.zeros[:, term.groups]
        return (scales * (dots - term.zeros * zeros * x.sum(-1))).sum(-1)

    def with_rows_on(self, rows):
        """These tiles with each row's codes those that lie `rows` rows on in memory."""
        N, T = self.codes.shape[:2]
        flat = self.codes.transpose(0, 1).reshape(N * T, *self.codes.shape[2:])
        rolled = flat.roll(-rows, 0).reshape(T, N, *self.codes.shape[2:]).transpose(0, 1)
        return replace(self, codes=rolled)
