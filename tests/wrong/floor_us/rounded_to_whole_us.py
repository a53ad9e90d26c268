# diagnosis: microseconds is 24, expected 23.8551.
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits // 8 + 4 * N * K // group_size
    return round(nbytes / (read_gb_per_s * 1e3))
