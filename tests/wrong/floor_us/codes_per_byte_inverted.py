# diagnosis: a code takes 8 / nbits bytes; it is nbits / 8
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * 8 / nbits
    pairs = N * K / group_size * 4
    return (codes + pairs) / (read_gb_per_s * 1e3)
