"""Counts by walking over the tiles of y."""

SIZES = {"8x32x16": (8, 32), "16x16x16": (16, 16), "32x8x16": (32, 8)}


def fragment_shape(M, N, K, rows, columns):
    costs = {}
    for shape, (tokens, outputs) in SIZES.items():
        x_bytes = W_bytes = padding = 0
        for m in range(0, M, rows * tokens):
            for n in range(0, N, columns * outputs):
                x_bytes += rows * tokens * K
                W_bytes += columns * outputs * K
                inside = min(M - m, rows * tokens) * min(N - n, columns * outputs)
                padding += (rows * tokens * columns * outputs - inside) * K
        costs[shape] = [x_bytes, W_bytes, padding]
    return sorted(costs, key=lambda s: (costs[s][0] + costs[s][1], costs[s][2]))[0], costs
