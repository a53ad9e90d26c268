# diagnosis: scales and zeros are forgotten
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    return N * K * nbits / 8 / (read_gb_per_s * 1e9) * 1e6
