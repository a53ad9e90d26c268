# diagnosis: a warp loads x and W for each product of fragments; it keeps them for all of its tile
from gemlite_edu.packing import FRAGMENTS as SHAPES


def fragment_shape(M, N, K, rows, columns):
    costs = {}
    for shape, (fragment_m, fragment_n) in SHAPES.items():
        tile_m, tile_n = rows * fragment_m, columns * fragment_n
        tiles_m, tiles_n = -(-M // tile_m), -(-N // tile_n)
        tiles = tiles_m * tiles_n
        fragments = tiles * rows * columns
        x_bytes, W_bytes = fragments * fragment_m * K, fragments * fragment_n * K
        padding = (tiles * tile_m * tile_n - M * N) * K
        costs[shape] = x_bytes, W_bytes, padding
    best = min(costs, key=lambda shape: (sum(costs[shape][:2]), costs[shape][2]))
    return best, costs
