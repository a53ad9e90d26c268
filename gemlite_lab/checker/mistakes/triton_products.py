"""Mistakes in the Split-K exercises: where a program finds its codes, its x and its groups."""

import torch

from gemlite_lab.checker.mistakes import dense, products, small_types
from gemlite_lab.checker.mistakes.model import Mistake, Model


def _padded(values, length):
    return torch.nn.functional.pad(values.double(), (0, length - values.shape[1]))


def indices(*sizes):
    """The index along each axis of `sizes`, all of shape `sizes`."""
    return torch.meshgrid(*map(torch.arange, sizes), indexing="ij")


class _SplitK:
    """splitk_group: chunks of neighbouring tiles; scales and zeros (groups, N)."""

    def __init__(self, case):
        tiles = -(-case.x.shape[1] // case.block_k)
        self.shape = case.chunks, -(-tiles // case.chunks), case.block_k
        self.length = self.shape[0] * self.shape[1] * self.shape[2]
        self.last = len(case.scales) - 1
        self.group = (torch.arange(self.length) // case.group_size).clamp(max=self.last)


def _parts_of_group(case):
    cut = _SplitK(case)
    return dense.right_parts(
        _padded(case.W_q, cut.length),
        _padded(case.x, cut.length),
        case.scales.T,
        case.zeros.T,
        cut.group,
        torch.ones(cut.shape),
        torch.float32,
    )


def _mistakes_of_group(case):
    cut, size, block = _SplitK(case), case.group_size, case.block_k
    chunk, tile, k = indices(*cut.shape)
    own = cut.shape[1]
    in_row = chunk * own + tile
    start = chunk * (case.x.shape[1] // case.chunks)
    groups = {
        "the chunk is left out of the group: it is counted from the first tile of the chunk":
            (tile * block + k) // size,
        "the group is that of the tile's first k": in_row * block // size,
        "the group is that of a tile's first k, and tiles are counted from the first of the chunk":
            tile * block // size,
        "the group is that of the tile's last k": (in_row * block + block - 1) // size,
        "the group is that of the tile's last k, which begins anew behind K":
            (in_row * block + block - 1) % case.x.shape[1] // size,
        "k / GROUP is rounded to the nearest, and behind the last group comes the first":
            (in_row * block + k + size // 2) // size % len(case.scales),
        "a tile is taken to be a group": in_row,
        "a tile of the chunk is taken to be a group": tile,
        "the tile is left out of the group": (chunk * own * block + k) // size,
        "the group is that of the chunk's first k": chunk * own * block // size,
        "the chunk is taken to be a group": chunk,
        "the chunk's number is added to the tile's; a chunk is tiles_of_a_chunk tiles":
            ((chunk + tile) * block + k) // size,
        "the chunk's number is multiplied by how many chunks there are, not by their tiles":
            ((chunk * cut.shape[0] + tile) * block + k) // size,
        "tiles go round the chunks, tile * chunks + chunk; a chunk's are neighbours":
            ((tile * cut.shape[0] + chunk) * block + k) // size,
        "k is divided by GROUP upwards": -(-(in_row * block + k) // size),
        "the group is the remainder of k by GROUP, not the quotient": (in_row * block + k) % size,
        "k is divided by BLOCK_K, not by GROUP": in_row,
        "a chunk is taken to have a whole number of groups":
            chunk * (own * block // size) + (tile * block + k) // size,
        "the chunk's part and the tile's part of k are divided apart, and each loses its rest":
            chunk * own * block // size + tile * block // size,
        "the chunk's part and the rest of k are divided apart, and each loses its rest":
            chunk * own * block // size + (tile * block + k) // size,
        "a chunk is taken to begin at k = chunk * (K // chunks); it begins at tile `first`":
            (start + tile * block + k) // size,
        "a chunk is taken to begin at k = chunk * (K // chunks), and a tile to lie in one group":
            (start + tile * block) // size,
        "all k of half a tile take the group of the first of them":
            (in_row * block + k // (block // 2) * (block // 2)) // size,
        "a tile's first k and the place in the tile are divided apart, and each loses its rest":
            in_row * block // size + k // size,
        "a short last group is taken to be part of the one before it":
            cut.group.clamp(max=max(0, case.x.shape[1] // size - 1)),
        "k is multiplied by 1 / GROUP, which float32 has to round; // divides exactly":
            (_of_float32(in_row * block + k) * _of_float32(1 / size)).long(),
    }  # fmt: skip
    groups |= products.shifted_groups(cut.group, cut.last)
    places = {"the chunk is left out of k": (tile * block + k).flatten()}
    axes = ("chunk", "K"), ("tile", "each chunk"), ("k", "each tile")
    counted = torch.ones(cut.shape).double()
    at, K = in_row * block + k, case.x.shape[1]
    quotient = K // case.chunks
    counts = {
        "a last tile that is not full is left out": at < K // block * block,
        "the last k of K is left out": at < K - 1,
        "a chunk is taken to be K // chunks numbers long, and the k that are left go to none":
            at < quotient * case.chunks,
        "a chunk is taken to be K // chunks numbers long, and those that fill no tile go to none":
            (at < quotient * case.chunks) & (at % quotient < quotient // block * block),
        "a last chunk with fewer tiles than the others is left out":
            (chunk + 1) * own <= -(-K // block),
    }  # fmt: skip
    tiles_of_own = (-(-K // block) - chunk * own).clamp(max=own)
    times_from_0 = (tile < tiles_of_own).sum(0)
    counts["every chunk begins at tile 0, not at first"] = (chunk == 0) * times_from_0
    counts |= products.twice_in_each_turn(tiles_of_own - 1 - tile)
    return [
        *dense.mistakes(
            4, counted, axes, cut.group, dense.existing(groups, cut.group, cut.last), places
        ),
        *products.mistakes_of_counts(counted, counts),
        *_begun_again(case, at.flatten()),
        *dense.byte_mistakes(),
    ]


def _begun_again(case, at):
    """The mistake in which the k beyond K, which fill up the last tile, meet an x."""
    K = case.x.shape[1]
    wrapped = at % K
    if K % case.block_k == 0:
        return []
    group = wrapped // case.group_size
    places = {"x_at": wrapped, "codes_at": wrapped, "scale_group": group, "zero_group": group}
    tiles_end = -(-K // case.block_k) * case.block_k
    counted = (at < tiles_end).double()
    words = "beyond K the last tile goes on with the first k of the row, which count twice"
    return [Mistake(words, places | {"counted": counted}, is_alone=True)]


def _output_of_group(parts):
    """y where each weight is rounded to fp16, which changes wrong ones alone."""
    value = parts["value"]
    return dense.output(parts | {"value": lambda *given: value(*given).float().half().double()})


def _of_float32(number):
    return torch.as_tensor(number, dtype=torch.float32)


def _parts_of_scales(case):
    K, block = case.K, case.config["BLOCK_K"]
    group = torch.arange(K) // case.group_size
    counted = torch.ones(K // block, block)
    return dense.right_parts(
        case.codes, case.x, case.scales.T, case.zeros.T, group, counted, torch.float32
    )


def _mistakes_of_scales(case):
    K, splits, block, size = case.K, case.config["SPLIT_K"], case.config["BLOCK_K"], case.group_size
    tile, _ = indices(K // block, block)
    turn, split = tile // splits, tile % splits
    last, right = len(case.scales) - 1, torch.arange(K) // size
    groups = {
        "the split is left out of the group, or is added to k as it is; it is a tile of BLOCK_K k":
            turn * splits * block // size,
        "the split and SPLIT_K are left out of the group: a turn is taken to be a tile":
            turn * block // size,
        "the split is added to the turn; a turn is SPLIT_K tiles": (turn + split) * block // size,
        "turn and split are exchanged: turn + split * SPLIT_K":
            (turn + split * splits) * block // size,
        "a turn is taken to be a group": turn,
        "a tile is taken to be a group": tile,
        "a split is taken to be a group": split,
        "the turn is left out of the group": split * block // size,
        "the split is added to the group, not to the tiles": turn * splits * block // size + split,
        "the split multiplies the turn; it is added": turn * splits * split * block // size,
        "the split is added to SPLIT_K, so that the turn multiplies it too":
            turn * (splits + split) * block // size,
        "the group is that of the split's next tile, SPLIT_K tiles on":
            (tile + splits) * block // size,
        "the group is counted in bytes": tile * block // 2 // size,
        "k is divided by GROUP upwards": -(-tile * block // size),
        "the turn's part and the split's part of k are divided apart, and each loses its rest":
            turn * splits * block // size + split * block // size,
        "a turn is taken to be a whole number of groups":
            split * block // size + turn * (splits * block // size),
        "each split is taken to have neighbouring tiles; the splits take turns":
            (split * -(-(K // block) // splits) + turn) * block // size,
        "the group is the remainder of k by GROUP, not the quotient": tile * block % size,
        "the group is that of the next tile": (tile + 1) * block // size,
        "1 is added to the group, to the last too, as + stride_sg does for .T views; it multiplies":
            tile * block // size + 1,
        "BLOCK_K is divided by GROUP before the tile multiplies it, and loses the rest":
            tile * (block // size),
        "a turn is taken to be SPLIT_K + 1 tiles; it is SPLIT_K":
            (turn * (splits + 1) + split) * block // size,
    }  # fmt: skip
    groups |= products.shifted_groups(right, right.max())
    groups[products.GROUP_0_OF_TILES] = groups.pop(products.GROUP_0)
    places = {
        "every split begins at tile 0": ((turn * splits * block) + torch.arange(block)).flatten(),
        "a turn goes on by one tile, not by SPLIT_K tiles":
            ((turn + split) * block + torch.arange(block)).flatten().clamp(max=K - 1),
    }  # fmt: skip
    even = torch.arange(K) // 2 * 2
    places |= {
        "even k are taken for odd ones, too": even,
        "odd k are taken for even ones": even + 1,
    }
    places["even and odd k are exchanged"] = torch.arange(K) ^ 1
    axes = ("tile", "K"), ("k", "each tile")
    counted = torch.ones(K // block, block).double()
    turns_behind = (K // block - 1 - tile) // splits
    return [
        *dense.mistakes(
            4,
            counted,
            axes,
            right,
            dense.existing(groups, right, last),
            {words: place for words, place in places.items() if (place != torch.arange(K)).any()},
        ),
        *products.mistakes_of_counts(counted, products.twice_in_each_turn(turns_behind)),
        *small_types.bfloat16_numbers(),
    ]


SPLITK_GROUP = Model(_parts_of_group, _mistakes_of_group, _output_of_group, dense.BY_ROW)
SPLITK_SCALES = dense.model(_parts_of_scales, _mistakes_of_scales)
