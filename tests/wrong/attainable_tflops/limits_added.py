# diagnosis: the two limits are added
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations_per_byte = 2 * M * N * K / nbytes
    return operations_per_byte * read_gb_per_s / 1e3 + matmul_tflops
