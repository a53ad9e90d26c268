# diagnosis: scales and zeros take nbits each, as the codes do
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    numbers = N * K + 2 * N * K / group_size
    return numbers * nbits / 8 / (read_gb_per_s * 1e3)
