# diagnosis: the groups of one row are counted, not those of all N
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    groups = K // group_size
    return (codes + 4 * groups) / (read_gb_per_s * 1e3)
