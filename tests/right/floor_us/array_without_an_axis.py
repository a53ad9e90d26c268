import numpy as np


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = np.array([N * K * nbits / 8, 4 * N * K / group_size])
    return np.array(nbytes.sum() / (read_gb_per_s * 1e3))
