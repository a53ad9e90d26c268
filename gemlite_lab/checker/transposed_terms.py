"""The transposed product of packed int4 weights, term by term, for models of wrong kernels."""

from dataclasses import dataclass

import torch

from gemlite_lab.checker.int4_cases import Int4Case


@dataclass(frozen=True)
class Rows:
    """A case as the kernel goes through it: n (P, 1), all places of all tiles; k (1, K).

    Places beyond N are there too; what they add is up to their x. A chunk has tiles_of_a_chunk.
    """

    case: Int4Case
    n: torch.Tensor
    k: torch.Tensor
    tiles_of_a_chunk: int

    @classmethod
    def of(cls, case):
        block_n, chunks = case.config["BLOCK_N"], case.config["chunks"]
        tiles = -(-case.N // block_n)
        n, k = torch.arange(tiles * block_n)[:, None], torch.arange(case.K)[None, :]
        return cls(case, n, k, -(-tiles // min(chunks, tiles)))

    @property
    def row(self):
        """The row of W at each place; beyond N, rows from the first on."""
        return self.n % self.case.N

    @property
    def tile(self):
        """The tile of each place, within N."""
        return self.n // self.case.config["BLOCK_N"]

    @property
    def place(self):
        """The number of each place in its tile."""
        return self.n % self.case.config["BLOCK_N"]

    @property
    def tile_in_chunk(self):
        """The tile of each place, within its chunk."""
        return self.tile % self.tiles_of_a_chunk

    @property
    def n_in_chunk(self):
        """Each place, counted from the beginning of its chunk."""
        return self.n % (self.tiles_of_a_chunk * self.case.config["BLOCK_N"])

    @property
    def last_of_its_chunk(self):
        """Whether no tile of its chunk comes after that of a place."""
        at_the_end = self.tile_in_chunk == self.tiles_of_a_chunk - 1
        return at_the_end | (self.tile == self.tile.max())

    @property
    def first_k(self):
        """The first k of the program of each k."""
        return self.k - self.k_in_block

    @property
    def k_in_block(self):
        """Each k, counted from the first one of its program."""
        return self.k % self.case.config["BLOCK_K"]

    @property
    def group(self):
        """The group of each k."""
        return self.k // self.case.group_size

    def x_at(self, n, is_there=None):
        """(M, P) the x that place n of each row holds, and 0 where nothing is loaded."""
        is_there = n < self.case.N if is_there is None else is_there
        x = self.case.x.double()[:, (n % self.case.N)[:, 0]]
        return x * is_there.expand(len(n), 1)[:, 0]

    def x_from(self, address):
        """(M, P) the elements of x at these addresses (M, P), 0 beyond N; None if outside."""
        x = self.case.x.double().flatten()
        is_there = (self.n < self.case.N).T.expand_as(address)
        if int(address[is_there].max()) >= len(x):
            return None
        return x[address.clamp(max=len(x) - 1)] * is_there

    def codes_at(self, row, k):
        """(P, K) codes of these rows and k."""
        return self.case.codes[row, k]

    def codes_from(self, address, k=None):
        """(P, K) codes of the bytes at these addresses: the even or the odd one, as k says."""
        storage, k = _storage(self.case.packed), self.k if k is None else k
        if int(address.max()) >= len(storage):
            return None
        high, low = storage.long() >> 4, storage.long() & 15
        if self.case.signed:
            low = low - 16 * (low >> 3)
        return torch.where(k % 2 == 1, high[address], low[address]).double()

    def pairs_at(self, row, group):
        """Scales and zeros, (P, K) each, of these rows and groups; None if there is none."""
        if int(row.max()) >= self.case.N or int(group.max()) >= len(self.case.scales):
            return None
        row, group = torch.broadcast_tensors(row, group)
        return tuple(t.double()[group, row] for t in (self.case.scales, self.case.zeros))

    def pairs_from(self, address):
        """Scales and zeros at these addresses; None if one is outside."""
        if int(address.max()) >= self.case.scales.numel():
            return None
        return tuple(_storage(t).double()[address] for t in (self.case.scales, self.case.zeros))

    @property
    def right(self):
        """(x (M, P), codes, scales, zeros), as they should be."""
        scales, zeros = self.pairs_at(self.row, self.group)
        return self.x_at(self.n), self.codes_at(self.row, self.k), scales, zeros

    def product(self, x=None, codes=None, pairs=None, weights=None):
        """y (M, K) fp16, with what is not None in place of what is right."""
        right_x, right_codes, *right_pairs = self.right
        scales, zeros = right_pairs if pairs is None else pairs
        codes = right_codes if codes is None else codes
        weights = (codes - zeros) * scales if weights is None else weights
        x = right_x if x is None else x
        return (x @ weights.expand(len(self.n), self.case.K)).half()


def _storage(tensor):
    """All elements in the order in which they lie in memory."""
    return (tensor if tensor.is_contiguous() else tensor.T).flatten()


def with_operands(changed):
    """The mistake of other operands: changed(Rows) -> {argument of `Rows.product`: tensor}."""

    def output(case):
        rows = Rows.of(case)
        others = changed(rows)
        return None if any(v is None for v in others.values()) else rows.product(**others)

    return output
