# diagnosis: the bits of the codes are counted as bytes
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits
    scales_and_zeros = N * (K // group_size) * 4
    return (codes + scales_and_zeros) / (read_gb_per_s * 1e9) * 1e6
