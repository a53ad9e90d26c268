import math

from gemlite_edu.packing import FRAGMENTS


def fragment_shape(M, N, K, rows, columns):
    costs, order = {}, []
    for shape, (tokens, outputs) in FRAGMENTS.items():
        height, width = tokens * rows, outputs * columns
        down, across = math.ceil(M / height), math.ceil(N / width)
        slabs, fragment_bytes_of_x, fragment_bytes_of_W = K // 16, tokens * 16, outputs * 16
        x_bytes = down * across * slabs * rows * fragment_bytes_of_x
        W_bytes = down * across * slabs * columns * fragment_bytes_of_W
        useful = M * N * K
        padding = down * height * across * width * K - useful
        costs[shape] = (float(x_bytes), float(W_bytes), float(padding))
        order.append((x_bytes + W_bytes, padding, shape))
    return [min(order)[2], costs]
