"""1:2 sparse weights, a pair in 8 bits: 7 bits for the kept weight, 1 bit to say which it is.

A pair is the weights k and k + 32 of 64 neighbours in a row. A kernel skips the pruned weight, so
it is 0 whatever the zero; the kept weight is (code - zero) * scale, with a code from 0 to 127. A
byte holds the code, and its bit 7 is set if the first weight of the pair is kept. A tile is 256
weights of a row: byte j of word `lane`, from the most significant on, holds the pair
k = 64 j + lane of the tile.
The data decide which weight a byte holds, so this layout is not an address map.
Source: GemLite's blog post, case study.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.numbers.checks import check_group_size
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.address_map import check_words
from gemlite_edu.packing.warp_interleaved import WARP_SIZE

NBITS = 7
_PAIRS_IN_WORD = 4
_FIRST_KEPT = 1 << NBITS
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Sparse1in2:
    """The sizes of the layout.

    >>> Sparse1in2().packed_shape(N=3, K=300)
    (3, 64)
    """

    nbits = NBITS
    pack_factor = 2 * _PAIRS_IN_WORD  # weights that a word stands for
    tile = pack_factor * WARP_SIZE

    def padded_K(self, K: int) -> int:
        """K rounded up to whole tiles; weights from K on meet an x of 0."""
        return -(-K // self.tile) * self.tile

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the words of an (N, K) matrix."""
        return N, self.padded_K(K) // self.pack_factor


@dataclass(frozen=True)
class SparseTiles:
    """`Sparse1in2` for rows of K weights, where `group_size` neighbours share a scale and zero.

    group_size: a divisor of K, and a divisor or a multiple of a tile; None: the whole row.

    >>> layout = SparseTiles(K=320, group_size=64)
    >>> layout.shape(N=3), layout.padded_groups
    ((3, 64), 8)
    """

    K: int
    group_size: int | None = None

    tile = Sparse1in2.tile
    word_dtype = torch.int32

    def __post_init__(self) -> None:
        if self.group_size is not None:
            check_group_size(self.group_size, self.K)

    def shape(self, N: int) -> tuple[int, int]:
        """Shape of the words of N rows."""
        return N, Sparse1in2().packed_shape(N, self.K)[1]

    @property
    def padded_groups(self) -> int:
        """Groups per row, including those of the padding."""
        padded_K = Sparse1in2().padded_K(self.K)
        return 1 if self.group_size is None else -(-padded_K // self.group_size)

    def pad_groups(self, values: torch.Tensor) -> torch.Tensor:
        """`values` (groups, N), made contiguous, with rows of 0 for the groups of the padding."""
        gap = self.padded_groups - len(values)
        return torch.nn.functional.pad(values, (0, 0, 0, gap)).contiguous()


def tiled_sparsity_50(W: torch.Tensor, tile_size: int = WARP_SIZE) -> torch.Tensor:
    """Choose the weights to keep: 1 at the larger magnitude of each pair, 0 at the other.

    W: (N, K), any real dtype, any K; a partner past the row counts as 0. If both magnitudes are
    equal, for example both 0, the second weight is kept. Returns (N, K) of W's dtype.
    tile_size: the distance within a pair; the packers need 32. Source: GemLite's blog post.

    >>> tiled_sparsity_50(torch.tensor([[3.0, 1.0, -2.0, 1.0]]), tile_size=2)
    tensor([[1., 0., 0., 1.]])
    """
    if not isinstance(W, torch.Tensor) or W.dim() != 2 or W.numel() == 0:
        raise ValueError(f"W must be a tensor (N, K) with N, K >= 1, got {_kind(W)}")
    if W.is_complex() or (W.is_floating_point() and not torch.isfinite(W).all()):
        raise ValueError("W has NaN, infinite or complex entries: clean it before pruning")
    if not isinstance(tile_size, int) or tile_size < 1:
        raise ValueError(f"tile_size must be an int of 1 or more, got {tile_size!r}")
    magnitudes = (W if W.is_floating_point() else W.long()).abs()
    first, second = _pairs(magnitudes, 2 * tile_size, tile_size)
    keeps_first = first > second
    return _from_pairs(keeps_first, ~keeps_first, W.shape[1]).to(W.dtype)


def pack_sparse_1in2(W_q: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Pack codes (N, K) uint8 below 128 into int32 words, `Sparse1in2().packed_shape(N, K)`.

    kept: (N, K), nonzero at the one weight of each pair whose code is packed, as
    `tiled_sparsity_50` returns it. Raises ValueError if both or neither of a pair are kept.
    """
    check_codes(W_q, NBITS)
    is_tensor = isinstance(kept, torch.Tensor)
    if not is_tensor or kept.shape != W_q.shape or kept.device != W_q.device:
        came = f"{tuple(kept.shape)} on {kept.device}" if is_tensor else type(kept).__name__
        raise ValueError(
            f"kept must be a tensor of W_q's shape {tuple(W_q.shape)} on {W_q.device}, got {came}"
        )
    first, second = _pairs(kept != 0)
    _check_one_of_each(first, second, W_q.shape[1])
    of_first, of_second = _pairs(W_q.int())
    codes = torch.where(first, of_first, of_second)
    return _words(codes | first.int() * _FIRST_KEPT)


def pack_warped_int32_8bit_50_sparse(W_q: torch.Tensor, tile_size: int = WARP_SIZE) -> torch.Tensor:
    """Pack integer codes (N, K) from 0 to 127, with at most one nonzero code in each pair.

    The function keeps the nonzero code of a pair, or the second one if both are 0. It cannot tell a
    kept code of 0 from a pruned weight; `pack_sparse_1in2` can. Returns int32 words. Raises
    ValueError for two nonzero codes in a pair, which GemLite's function of this name would OR.
    """
    if tile_size != WARP_SIZE:
        raise ValueError(f"pairs to pack lie {WARP_SIZE} apart, got tile_size = {tile_size}")
    if not isinstance(W_q, torch.Tensor) or W_q.dtype not in _INTEGERS:
        raise TypeError(f"W_q must be an integer tensor (N, K) of codes, got {_kind(W_q)}")
    if W_q.dim() != 2 or W_q.numel() == 0:
        raise ValueError(f"W_q must have shape (N, K) with N, K >= 1, got {tuple(W_q.shape)}")
    if int(W_q.min()) < 0 or int(W_q.max()) >= _FIRST_KEPT:
        raise ValueError(f"codes are 0 to 127, got {int(W_q.min())} to {int(W_q.max())}")
    first, second = _pairs(W_q != 0)
    both = (first & second).nonzero()
    if len(both):
        n, k = _place(both[0])
        raise ValueError(
            f"W_q[{n}, {k}] and W_q[{n}, {k + WARP_SIZE}] are both nonzero: 1:2 sparse weights "
            f"have one of each pair; multiply by tiled_sparsity_50 first"
        )
    return pack_sparse_1in2(W_q.to(torch.uint8), tiled_sparsity_50(W_q.int()))


def unpack_sparse_1in2(W_packed: torch.Tensor, K: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The inverse of `pack_sparse_1in2`: codes (N, K) uint8, 0 where pruned; kept (N, K) bool."""
    check_words(W_packed, Sparse1in2(), K)
    shifts = torch.arange(24, -1, -8, device=W_packed.device, dtype=torch.int32).view(-1, 1)
    words = W_packed.reshape(len(W_packed), -1, 1, WARP_SIZE)
    pairs = (words >> shifts & 0xFF).reshape(len(W_packed), -1, WARP_SIZE)
    codes, first = pairs & _FIRST_KEPT - 1, pairs >= _FIRST_KEPT
    kept = _from_pairs(first, ~first, K)
    return _from_pairs(codes * first, codes * ~first, K).to(torch.uint8), kept


def _pairs(
    W: torch.Tensor, tile: int = Sparse1in2.tile, distance: int = WARP_SIZE
) -> tuple[torch.Tensor, ...]:
    """The first and second of all pairs, (N, pairs, distance) each; pads rows to whole tiles."""
    padded = torch.nn.functional.pad(W, (0, -W.shape[1] % tile))
    return padded.reshape(len(W), -1, 2, distance).unbind(2)


def _from_pairs(first: torch.Tensor, second: torch.Tensor, K: int) -> torch.Tensor:
    return torch.stack([first, second], dim=2).flatten(1)[:, :K].contiguous()


def _check_one_of_each(first: torch.Tensor, second: torch.Tensor, K: int) -> None:
    """Raise unless exactly one weight of each pair is kept; it may be a partner past the row."""
    start = torch.arange(first.shape[1], device=first.device).view(-1, 1) * 2 * WARP_SIZE
    k = start + torch.arange(WARP_SIZE, device=first.device)
    wrong = torch.where(k + WARP_SIZE < K, first == second, False).nonzero()
    if len(wrong):
        n, k = _place(wrong[0])
        raise ValueError(
            f"of W[{n}, {k}] and W[{n}, {k + WARP_SIZE}] exactly one must be kept, as in "
            f"tiled_sparsity_50(W)"
        )


def _place(index: torch.Tensor) -> tuple[int, int]:
    n, pair, lane = index.tolist()
    return n, pair * 2 * WARP_SIZE + lane


def _words(pairs: torch.Tensor) -> torch.Tensor:
    """Combine bytes (N, pairs, 32) into int32 words of four bytes."""
    tiles = pairs.reshape(len(pairs), -1, _PAIRS_IN_WORD, WARP_SIZE)
    words = torch.zeros_like(tiles[:, :, 0])
    for j in range(_PAIRS_IN_WORD):
        words |= tiles[:, :, j] << 24 - 8 * j
    return words.flatten(1)


def _kind(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{value.dtype} {tuple(value.shape)}"
