# diagnosis: a tile is taken to be 16 x 16 for every shape
from gemlite_edu.packing import FRAGMENTS as SHAPES


def fragment_shape(M, N, K, rows, columns):
    costs = {}
    for shape in SHAPES:
        tile_m, tile_n = 16 * rows, 16 * columns
        tiles_m, tiles_n = -(-M // tile_m), -(-N // tile_n)
        tiles = tiles_m * tiles_n
        x_bytes, W_bytes = tiles * tile_m * K, tiles * tile_n * K
        padding = (tiles * tile_m * tile_n - M * N) * K
        costs[shape] = x_bytes, W_bytes, padding
    best = min(costs, key=lambda shape: (sum(costs[shape][:2]), costs[shape][2]))
    return best, costs
