# diagnosis: it must return one number, not a str
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = N * K * nbits / 8 + 4 * N * K / group_size
    return f"{nbytes / (read_gb_per_s * 1e3):.1f} us"
