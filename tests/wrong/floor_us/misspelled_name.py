# diagnosis: floor_us raised NameError at `return (code_bytes + 4 * N * K / groupsize)
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    code_bytes = N * K * nbits / 8
    return (code_bytes + 4 * N * K / groupsize) / (read_gb_per_s * 1e3)  # noqa: F821
