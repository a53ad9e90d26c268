# diagnosis: a byte holds 8 // nbits whole codes, so that 3-bit codes leave bits idle
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    code_bytes = N * K / (8 // nbits)
    groups = N * (K / group_size)
    return (code_bytes + 4 * groups) * 1e-3 / read_gb_per_s
