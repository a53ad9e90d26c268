"""What wrong answers to fragment_shape give: {mistake in words: case -> output}."""

from dataclasses import replace

import torch

from gemlite_edu.packing import FRAGMENTS
from gemlite_lab.checker.fragment_counts import SHAPES, best_of, counts_of, cut, right_costs


def output_of(case, costs_of, best=best_of):
    """Counts of a case, (products or shapes, counts), given costs_of(M, N, K, rows, columns)."""
    found = []
    for product in case.products:
        costs = costs_of(*product)
        found += [costs[shape][: case.counts] for shape in case.shapes or [best(costs)]]
    return torch.tensor(found)


def _counted(counts):
    """The mistake of other counts: counts(Cut, (rows, columns), (tokens, outputs) of a fragment).

    None where not all of them are whole. The shapes that it calls best are not judged.
    """

    def output(case):
        if not case.shapes:
            return None

        def costs(*product):
            return {
                shape: counts(cut(*product, shape), product[3:], FRAGMENTS[shape])
                for shape in SHAPES
            }

        found = output_of(case, costs)
        return found.long() if (found == found.round()).all() else None

    return output


def _cut(change):
    """The mistake of cutting otherwise: change(Cut, (rows, columns), fragment) -> Cut."""
    return _counted(lambda c, tile, fragment: counts_of(change(c, tile, fragment)))


def _tiles(number):
    """The mistake of another number of tiles: number(outputs or tokens, those of a tile)."""
    return _cut(
        lambda c, tile, f: replace(c, tiles_m=number(c.M, c.tile_m), tiles_n=number(c.N, c.tile_n))
    )


def _of_tiles(c, tile_m, tile_n):
    tiles = -(-c.M // tile_m), -(-c.N // tile_n)
    return replace(c, tile_m=tile_m, tile_n=tile_n, tiles_m=tiles[0], tiles_n=tiles[1])


def _bytes(times_x, times_W=None):
    """The mistake of that many times as many bytes: times(Cut, (rows, columns))."""
    times_W = times_W or times_x
    return _counted(
        lambda c, tile, f: (c.x_bytes * times_x(c, tile), c.W_bytes * times_W(c, tile), c.padding)
    )


def _loads(x, W):
    return _counted(lambda c, tile, fragment: (x(c), W(c), c.padding))


def _padding(number):
    return _counted(lambda c, tile, fragment: (c.x_bytes, c.W_bytes, number(c)))


def _chosen(best):
    """The mistake of choosing otherwise: best({shape: counts})."""
    return lambda case: None if case.shapes else output_of(case, right_costs, best)


def _least(key, of=min):
    return _chosen(lambda costs: of(costs, key=lambda shape: key(costs[shape])))


def _rows(c):
    """Rows of x with those of padding, and of W."""
    return c.tiles_m * c.tile_m, c.tiles_n * c.tile_n


def _fragments_beyond_left_out(c, tile, fragment):
    tokens, outputs = -(-c.M // fragment[0]) * fragment[0], -(-c.N // fragment[1]) * fragment[1]
    padding = (tokens * outputs - c.M * c.N) * c.K
    return tokens * c.tiles_n * c.K, outputs * c.tiles_m * c.K, padding


def _corner_twice(c):
    m, n = _rows(c)
    return ((m - c.M) * n + (n - c.N) * m) * c.K


def _corner_left_out(c):
    m, n = _rows(c)
    return ((m - c.M) * c.N + (n - c.N) * c.M) * c.K


MISTAKES = {
    # how y is cut
    "the number of tiles is rounded down; what is left of y needs a tile too": _tiles(
        lambda size, tile: size // tile
    ),
    "there is one tile more than fit, also where none is needed": _tiles(
        lambda size, tile: size // tile + 1
    ),
    "the number of tiles is rounded to the nearest": _tiles(lambda size, tile: round(size / tile)),
    "the number of tiles is not rounded; a tile that is needed in part is computed in full": (
        _tiles(lambda size, tile: size / tile)
    ),
    "a fragment's tokens and outputs are exchanged": _cut(
        lambda c, tile, f: _of_tiles(c, f[1] * tile[0], f[0] * tile[1])
    ),
    "rows and columns are exchanged": _cut(
        lambda c, tile, f: _of_tiles(c, f[0] * tile[1], f[1] * tile[0])
    ),
    "a tile is taken to be one fragment, whatever rows and columns are": _cut(
        lambda c, tile, f: _of_tiles(c, *f)
    ),
    "a tile is taken to be 16 x 16 for every shape": _cut(
        lambda c, tile, f: _of_tiles(c, 16 * tile[0], 16 * tile[1])
    ),
    "fragments beyond the edge of y are left out; a warp computes its whole tile": _counted(
        _fragments_beyond_left_out
    ),
    # which bytes
    "x and W are loaded once for all tiles; each tile loads its own": _loads(
        lambda c: c.tiles_m * c.tile_m * c.K, lambda c: c.tiles_n * c.tile_n * c.K
    ),
    "only one tile is counted": _loads(lambda c: c.tile_m * c.K, lambda c: c.tile_n * c.K),
    "rows beyond M and N are not loaded; a fragment is loaded whole": _loads(
        lambda c: c.M * c.tiles_n * c.K, lambda c: c.N * c.tiles_m * c.K
    ),
    "a warp loads x and W for each product of fragments; it keeps them for all of its tile": (
        _bytes(lambda c, tile: tile[1], lambda c, tile: tile[0])
    ),
    "W takes 2 bits a weight; in shared memory it is decoded, a byte each": _bytes(
        lambda c, tile: 1, lambda c, tile: 1 / 4
    ),
    "x and W take 4 bytes each; int8 takes 1": _bytes(lambda c, tile: 4),
    "bits are counted, not bytes": _bytes(lambda c, tile: 8),
    "only one step of 16 k is counted; K has K / 16": _bytes(lambda c, tile: 16 / c.K),
    "fragments are counted, not their bytes": _counted(
        lambda c, tile, f: (c.x_bytes // (16 * f[0]), c.W_bytes // (16 * f[1]), c.padding)
    ),
    "x_bytes and W_bytes are exchanged": _counted(
        lambda c, tile, f: (c.W_bytes, c.x_bytes, c.padding)
    ),
    # which products
    "padding counts all products": _padding(lambda c: c.products),
    "padding counts the products that go into y": _padding(lambda c: c.M * c.N * c.K),
    "padding counts outputs; each has K products": _padding(lambda c: c.padding // c.K),
    "padding counts a product and its sum as two": _padding(lambda c: c.padding * 2),
    "only padding along M is counted": _padding(lambda c: (_rows(c)[0] - c.M) * c.N * c.K),
    "only padding along N is counted": _padding(lambda c: (_rows(c)[1] - c.N) * c.M * c.K),
    "what lies beyond both M and N is counted twice": _padding(_corner_twice),
    "what lies beyond both M and N is left out": _padding(_corner_left_out),
    # which shape
    "the best shape is the one with the most bytes": _least(
        lambda counts: (counts[0] + counts[1], counts[2]), of=max
    ),
    "the best shape is the one with the least padding": _least(
        lambda counts: (counts[2], counts[0] + counts[1])
    ),
    "the best shape is the one with the fewest bytes of x, 8x32x16 for all M and N": _least(
        lambda counts: counts[0]
    ),
    "the best shape is the one with the fewest bytes of W, 32x8x16 for all M and N": _least(
        lambda counts: counts[1]
    ),
    "of shapes that load as much the first is taken, not the one with less padding": _least(
        lambda counts: counts[0] + counts[1]
    ),
    "of shapes that load as much the one with more padding is taken": _least(
        lambda counts: (counts[0] + counts[1], -counts[2])
    ),
    "16x16x16 is called best for all M and N": _chosen(lambda costs: "16x16x16"),
}
