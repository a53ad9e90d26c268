# diagnosis: floor_us is wrong on 3-bit, N = 14336, K = 4096
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    return (N * K / 2 + 4 * N * K / group_size) / (read_gb_per_s * 1e3)
