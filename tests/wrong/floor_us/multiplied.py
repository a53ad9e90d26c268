# diagnosis: the bytes are multiplied by the bandwidth instead of divided by it
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits / 8 + 4 * N * K / group_size
    bytes_per_us = read_gb_per_s * 1e3
    return nbytes * bytes_per_us
