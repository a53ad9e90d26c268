# diagnosis: there is one scale and one zero per row, whatever group_size is
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    return (codes + 4 * N) / (read_gb_per_s * 1e3)
