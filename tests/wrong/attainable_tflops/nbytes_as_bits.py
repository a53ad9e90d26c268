# diagnosis: nbytes is taken as bits, and divided by 8
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / (nbytes / 8)
    return min(matmul_tflops, operations_per_byte * read_gb_per_s / 1e3)
