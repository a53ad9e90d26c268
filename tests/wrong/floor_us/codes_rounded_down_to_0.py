# diagnosis: It is none of the mistakes known here; hint("floor_us", 1) may help.
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    return (N * K * (nbits // 8) + N * K / group_size) / (read_gb_per_s * 1e3)
