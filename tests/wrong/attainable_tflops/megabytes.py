# diagnosis: the limit of the memory is a thousand times too low: 1 TFLOP/s is 1e3 GFLOP/s
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / nbytes
    return min(operations_per_byte * read_gb_per_s * 1e6 / 1e12, matmul_tflops)
