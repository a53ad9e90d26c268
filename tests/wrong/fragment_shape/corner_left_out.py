# diagnosis: what lies beyond both M and N is left out
from gemlite_edu.packing import FRAGMENTS as SHAPES


def fragment_shape(M, N, K, rows, columns):
    costs = {}
    for shape, (fragment_m, fragment_n) in SHAPES.items():
        tile_m, tile_n = rows * fragment_m, columns * fragment_n
        tiles_m, tiles_n = -(-M // tile_m), -(-N // tile_n)
        tiles = tiles_m * tiles_n
        x_bytes, W_bytes = tiles * tile_m * K, tiles * tile_n * K
        m, n = tiles_m * tile_m, tiles_n * tile_n
        padding = ((m - M) * N + (n - N) * M) * K
        costs[shape] = x_bytes, W_bytes, padding
    best = min(costs, key=lambda shape: (sum(costs[shape][:2]), costs[shape][2]))
    return best, costs
