# diagnosis: a code takes 8 / nbits bytes; it is nbits / 8
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K / nbits * 8
    return (codes + N * K // group_size * 2 * 2) / read_gb_per_s / 1e3
