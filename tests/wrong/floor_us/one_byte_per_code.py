# diagnosis: each code takes 1 byte, as an unpacked one does
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    groups = N * K / group_size
    return (N * K + groups * (2 + 2)) / (read_gb_per_s * 1e3)
