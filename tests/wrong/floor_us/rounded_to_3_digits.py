# diagnosis: microseconds is 0.071, expected 0.0705641.
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits / 8 + 4 * N * K / group_size
    return round(nbytes / (read_gb_per_s * 1e3), 3)
