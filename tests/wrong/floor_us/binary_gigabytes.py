# diagnosis: a GB is taken as 2**30 bytes; in GB/s it is 1e9
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits / 8 + 4 * N * K / group_size
    return nbytes / (read_gb_per_s * 2**30) * 1e6
