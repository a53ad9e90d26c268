# diagnosis: fragments beyond the edge of y are left out; a warp computes its whole tile
from gemlite_edu.packing import FRAGMENTS as SHAPES


def fragment_shape(M, N, K, rows, columns):
    costs = {}
    for shape, (fragment_m, fragment_n) in SHAPES.items():
        tile_m, tile_n = rows * fragment_m, columns * fragment_n
        tiles_m, tiles_n = -(-M // tile_m), -(-N // tile_n)
        tokens = -(-M // fragment_m) * fragment_m
        outputs = -(-N // fragment_n) * fragment_n
        x_bytes, W_bytes = tiles_n * tokens * K, tiles_m * outputs * K
        padding = (tokens * outputs - M * N) * K
        costs[shape] = x_bytes, W_bytes, padding
    best = min(costs, key=lambda shape: (sum(costs[shape][:2]), costs[shape][2]))
    return best, costs
