# diagnosis: a 32-bit word holds 32 // nbits whole codes, so that 3-bit codes leave bits idle
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    pack_factor = 32 // nbits
    words = N * K / pack_factor
    nbytes = 4 * words + 4 * N * K / group_size
    return nbytes / (read_gb_per_s * 1e3)
