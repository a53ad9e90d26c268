def floor_us(N, K, nbits, group_size, read_gb_per_s):
    groups = K // group_size
    bytes_of_a_row = K * nbits / 8 + groups * (2 + 2)
    seconds = N * bytes_of_a_row / (read_gb_per_s * 10**9)
    return seconds * 10**6
