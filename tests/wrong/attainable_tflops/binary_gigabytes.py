# diagnosis: a GB is taken as 2**30 bytes; in GB/s it is 1e9
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / nbytes
    return min(operations_per_byte * read_gb_per_s * 2**30 / 1e12, matmul_tflops)
