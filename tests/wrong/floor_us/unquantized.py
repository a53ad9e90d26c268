# diagnosis: each code takes 2 bytes, as an unquantized weight does
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    return (2 * N * K + 4 * N * K / group_size) / read_gb_per_s / 1000
