# diagnosis: the time is in nanoseconds
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits / 8 + 4 * N * K / group_size
    return nbytes / read_gb_per_s
