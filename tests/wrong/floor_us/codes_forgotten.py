# diagnosis: the codes are forgotten: only scales and zeros are counted
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K / group_size * 4
    return nbytes / (read_gb_per_s * 1e3)
