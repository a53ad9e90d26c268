"""The layout of weights that are numbers of 8 or 16 bits, as the Triton kernels read them."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class PlainTiles:
    """The layout of unpacked weights (N, K) of an 8- or 16-bit dtype, cut into slices of K.

    A tile holds 64 bytes of each row, contiguous over all rows: (tiles, N, depth).

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
    def depth(self) -> int:
        """Weights of a row per tile."""
        return 64 // self.dtype.itemsize

    tile = depth

    @property
    def padded_K(self) -> int:
        """Weights per row with padding: whole tiles."""
        return -(-self.K // self.tile) * self.tile

    def shape(self, N: int) -> tuple[int, int, int]:
        """Shape of the weights of N rows: (tiles, N, depth)."""
        return self.padded_K // self.tile, N, self.depth

    def pad(self, values: torch.Tensor, fill: float = 0) -> torch.Tensor:
        """Pad `values` (rows, K) with `fill` to (rows, padded_K)."""
        if values.shape[1] == self.padded_K:
            return values
        padded = values.new_full((len(values), self.padded_K), fill)
        padded[:, : self.K] = values
        return padded


def tile_plain(W: torch.Tensor, layout: PlainTiles) -> torch.Tensor:
    """Reorder W (N, K) into tiles of shape `layout.shape(N)` and the same dtype."""
    return layout.pad(W).reshape(len(W), -1, layout.depth).transpose(0, 1).contiguous()


def untile_plain(tiles: torch.Tensor, layout: PlainTiles) -> torch.Tensor:
    """The inverse of `tile_plain`: W (N, K)."""
    N = tiles.shape[1]
    return tiles.transpose(0, 1).reshape(N, layout.padded_K)[:, : layout.K].contiguous()
