# diagnosis: a row has group_size groups; it has K / group_size
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    pairs = N * group_size
    return (codes + 4 * pairs) / (read_gb_per_s * 1e3)
