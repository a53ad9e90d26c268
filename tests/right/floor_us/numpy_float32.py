import numpy as np


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = np.float32(N * K) * np.float32(nbits / 8 + 4 / group_size)
    return nbytes / np.float32(read_gb_per_s * 1e3)
