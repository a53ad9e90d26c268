# diagnosis: the limit of the memory is in GFLOP/s, that of the arithmetic in TFLOP/s
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / nbytes
    return min(operations_per_byte * read_gb_per_s, matmul_tflops)
