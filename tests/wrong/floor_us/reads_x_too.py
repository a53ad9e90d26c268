# diagnosis: microseconds is 23.8633, expected 23.8551.
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    weights = N * K * nbits / 8 + 4 * N * K / group_size
    x = 2 * K
    return (weights + x) / (read_gb_per_s * 1e3)
