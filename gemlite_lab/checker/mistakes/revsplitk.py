"""Mistakes in gemv_revsplitk: which tiles a chunk adds up, and what each call is handed."""

import torch

from gemlite_lab.checker.mistakes import dense, products
from gemlite_lab.checker.mistakes.model import Mistake
from gemlite_lab.checker.mistakes.triton_products import indices


def _parts_of(case):
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


def _mistakes_of(case):
    layout = case.layout
    shape = layout.padded_K // layout.tile, layout.fields, layout.depth
    size = layout.padded_group or layout.padded_K
    last = case.scales.shape[1] - 1
    tile, field, depth = indices(*shape)
    k = torch.arange(layout.padded_K).view(shape)
    of_chunk = -(-shape[0] // (2 * case.chunks)) * 2
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
    groups[products.GROUP_0_OF_TILES] = groups.pop(products.GROUP_0)
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
            case.nbits, counted, axes, right, dense.existing(groups, right, last),
            {w: p for w, p in places.items() if (p != k.flatten()).any()},
        ),
        *_chunk_mistakes(counted, tile, in_chunk, of_chunk, shape[0], chunk),
        *_mistakes_of_calls(layout, counted, tile, in_chunk, of_chunk, inside),
    ]  # fmt: skip


def _mistakes_of_calls(layout, counted, tile, in_chunk, of_chunk, inside):
    """Mistakes in what the learner hands to tile_sum, planes_sum and scaled."""
    in_own = (len(tile) - (tile - in_chunk)).clamp(max=of_chunk)  # tiles of the own chunk
    is_left_over = (in_chunk == in_own - 1) & (in_chunk % 2 == 0)
    calls_behind = in_own - 1 - in_chunk
    if layout.group_size is None or layout.padded_group % (2 * layout.tile) == 0:
        calls_behind = in_own % 2 * ~is_left_over
        twice, at = 1 + (in_chunk % 2 == 0) * ~is_left_over, _wrong_x_of_pairs(layout, tile, inside)
    else:
        twice, at = torch.ones_like(counted), {}
    right = tile * layout.tile + inside
    counts = {
        "tile_sum is given acc and adds to it, so that acc += tile_sum(...) counts acc twice":
            2**calls_behind,
        "scaled(...) is added after each tile of a pair; products and sum_x have both tiles then":
            twice,
    }  # fmt: skip
    return products.mistakes_of_counts(counted, counts) + [
        Mistake(words, {"x_at": torch.where(is_left_over, right, x_at).flatten()})
        for words, x_at in at.items()
    ]


def _wrong_x_of_pairs(layout, tile, inside):
    """{mistake: the k of x} where a pair of tiles is scaled once."""
    depth, second = layout.depth, tile % 2 * layout.tile
    return {
        "x is taken at k = tile; a tile begins at k = tile * TILE (for both tiles of a pair)":
            tile + inside,
        "x is taken at k = tile * DEPTH; a tile begins at k = tile * TILE":
            tile // 2 * 2 * depth + second + inside,
        "x is taken at k = tile * DEPTH; a tile begins at k = tile * TILE (for both tiles)":
            tile * depth + inside,
        "x is taken at k = tile * FIELDS; a tile begins at k = tile * TILE (for both tiles)":
            tile * layout.fields + inside,
        "x_ptrs is not moved to the tile: each pair takes the x of the first pair": second + inside,
    }  # fmt: skip


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
        "the last pair of tiles of each chunk is left out": (tile < last - 2 + last % 2)
            | is_left_over,
        "each chunk goes on to the end of the row, not to last":
            1 + chunk * (tile < tiles // 2 * 2),
        "each chunk adds up all of K": 0 * tile + chunk.max() + 1,
        "only chunk 0 is used": chunk == 0,
    }  # fmt: skip
    return products.mistakes_of_counts(counted, counts)


REVSPLITK = dense.model(_parts_of, _mistakes_of)
