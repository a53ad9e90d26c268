# diagnosis: the result is in FLOP/s
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / nbytes
    return min(operations_per_byte * read_gb_per_s * 1e9, matmul_tflops * 1e12)
