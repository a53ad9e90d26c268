# diagnosis: only the scales are counted, not the zeros
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    scales = N * K / group_size * 2
    return (codes + scales) / (read_gb_per_s * 1e3)
