# diagnosis: scales and zeros take 4 bytes each; in fp16 it is 2
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    codes = N * K * nbits / 8
    scales = zeros = N * K / group_size * 4
    return (codes + scales + zeros) / (read_gb_per_s * 1e3)
