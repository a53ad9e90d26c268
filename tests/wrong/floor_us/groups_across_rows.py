# diagnosis: only the scales are counted, not the zeros
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    groups = N * K / (2 * group_size)
    return (N * K * nbits / 8 + 4 * groups) / (read_gb_per_s * 1e3)
