# diagnosis: scales and zeros take 16 bytes each; it is 16 bits
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    pairs = N * K / group_size * (16 + 16)
    return (codes + pairs) / (read_gb_per_s * 1e3)
