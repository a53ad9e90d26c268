def floor_us(N, K, nbits, group_size, read_gb_per_s):
    bits_per_weight = nbits + 32 / group_size
    return N * K * bits_per_weight / 8 / read_gb_per_s / 1e3
