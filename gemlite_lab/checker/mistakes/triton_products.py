"""Mistakes in the Triton exercises: where a program finds its codes, its x and its groups."""

import torch

from gemlite_lab.checker.mistakes import dense, products


def _padded(values, length):
    return torch.nn.functional.pad(values.double(), (0, length - values.shape[1]))


def _at(*sizes):
    """The index along each axis of `sizes`, all of shape `sizes`."""
    return torch.meshgrid(*map(torch.arange, sizes), indexing="ij")


def _ceil_div(a, b):
    return -(-a // b)


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
    chunk, tile, k = _at(*cut.shape)
    own = cut.shape[1]
    in_row = chunk * own + tile
    groups = {
        "the chunk is left out of the group: it is counted from the first tile of the chunk":
            (tile * block + k) // size,
        "the group is that of the tile's first k": in_row * block // size,
        "the group is that of the first k of a tile of the chunk, not of the row":
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
    counts = {
        "a last tile that is not full is left out": at < K // block * block,
        "the last k of K is left out": at < K - 1,
    }
    return [
        *dense.mistakes(4, counted, axes, dense.existing(groups, cut.group, cut.last), places),
        *products.mistakes_of_counts(counted, counts),
        *dense.byte_mistakes(),
    ]


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
    tile, _ = _at(K // block, block)
    turn, split = tile // splits, tile % splits
    last, right = len(case.scales) - 1, torch.arange(K) // size
    groups = {
        "the split is left out of the group": turn * splits * block // size,
        "the split and SPLIT_K are left out of the group: a turn is taken to be a tile":
            turn * block // size,
        "the split is added to the turn; a turn is SPLIT_K tiles": (turn + split) * block // size,
        "turn and split are exchanged: turn + split * SPLIT_K":
            (turn + split * splits) * block // size,
        "a turn is taken to be a group": turn,
        "a tile is taken to be a group": tile,
        "a split is taken to be a group": split,
        "the turn is left out of the group": split * block // size,
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
        "the group is the one behind the right one, also behind the last": tile * block // size + 1,
        "a turn is taken to be SPLIT_K + 1 tiles; it is SPLIT_K":
            (turn * (splits + 1) + split) * block // size,
    }  # fmt: skip
    groups |= products.shifted_groups(right, right.max())
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
    return dense.mistakes(
        4,
        torch.ones(K // block, block).double(),
        axes,
        dense.existing(groups, right, last),
        {words: place for words, place in places.items() if (place != torch.arange(K)).any()},
    )


def _parts_of_revsplitk(case):
    layout = case.layout
    group = torch.arange(layout.padded_K) // (layout.padded_group or layout.padded_K)
    return dense.right_parts(
        layout.pad(case.W_q),
        layout.pad(case.x),
        case.scales,
        case.zeros,
        group.clamp(max=case.scales.shape[1] - 1),
        torch.ones(layout.padded_K // layout.tile, layout.fields, layout.depth),
        torch.float32,
    )


def _mistakes_of_revsplitk(case):
    layout = case.layout
    shape = layout.padded_K // layout.tile, layout.fields, layout.depth
    size = layout.padded_group or layout.padded_K
    last = case.scales.shape[1] - 1
    tile, field, depth = _at(*shape)
    k = torch.arange(layout.padded_K).view(shape)
    of_chunk = _ceil_div(_ceil_div(shape[0], 2), case.chunks) * 2
    chunk, in_chunk = tile // of_chunk, tile % of_chunk
    right = (k // size).clamp(max=last).flatten()
    pair = tile // 2 * 2
    groups = {
        "both tiles of a pair take the group of the first": pair * layout.tile // size,
        "both tiles of a pair take the group of the second": (pair + 1) * layout.tile // size,
        "a tile is taken to be a group": tile,
        "a pair is taken to be a group": tile // 2,
        "the group is counted from the first tile of the chunk, not of the row":
            (in_chunk * layout.tile + field * layout.depth) // size,
        "every k of a tile takes the group of its first": tile * layout.tile // size,
    }  # fmt: skip
    groups |= products.shifted_groups(right, last)
    inside = k - tile * layout.tile
    places = {
        "the second tile of a pair is taken from the place of the first":
            (pair * layout.tile + inside).flatten(),
        "the first tile of a pair is taken from the place of the second":
            ((pair + 1).clamp(max=shape[0] - 1) * layout.tile + inside).flatten(),
        "the chunk is left out: each chunk begins at tile 0":
            (in_chunk * layout.tile + inside).flatten(),
        "the tiles of a pair are exchanged":
            ((tile ^ 1).clamp(max=shape[0] - 1) * layout.tile + inside).flatten(),
        "the tile is left out: all take those of tile 0": inside.flatten(),
    }  # fmt: skip
    counted = torch.ones(shape).double()
    axes = ("tile", "K"), ("plane", "each tile"), ("code", "each plane")
    return [
        *dense.mistakes(
            case.nbits, counted, axes, dense.existing(groups, right, last),
            {w: p for w, p in places.items() if (p != k.flatten()).any()},
        ),
        *_chunk_mistakes(counted, tile, in_chunk, of_chunk, shape[0], chunk),
    ]  # fmt: skip


def _chunk_mistakes(counted, tile, in_chunk, of_chunk, tiles, chunk):
    last = torch.minimum((chunk + 1) * of_chunk, torch.tensor(tiles)) - 1
    is_left_over = (tile == last) & (in_chunk % 2 == 0)
    counts = {
        "the tile that is left over, where a chunk has an odd number of tiles, is forgotten":
            ~is_left_over,
        "the tile that is left over is added twice": 1 + is_left_over.double(),
        "the second tile of each pair is never used": in_chunk % 2 == 0,
        "the first tile of each pair is never used": (in_chunk % 2 == 1) | is_left_over,
        "the last tile of each chunk is left out": tile != last,
        "the first tile of each chunk is left out": in_chunk != 0,
        "only the first pair of tiles of each chunk is used": in_chunk < 2,
        "the first pair of tiles of each chunk is left out": in_chunk >= 2,
        "the last pair of tiles of each chunk is left out": (tile < last - last % 2 - 1)
            | is_left_over,
        "each chunk adds up all of K": 0 * tile + chunk.max() + 1,
        "only chunk 0 is used": chunk == 0,
    }  # fmt: skip
    return products.mistakes_of_counts(counted, counts)


SPLITK_GROUP = dense.model(_parts_of_group, _mistakes_of_group)
SPLITK_SCALES = dense.model(_parts_of_scales, _mistakes_of_scales)
REVSPLITK = dense.model(_parts_of_revsplitk, _mistakes_of_revsplitk)
