# diagnosis: attainable_tflops raised ZeroDivisionError at `return min(2 * N * K / (nbytes
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    return min(2 * N * K / (nbytes * (M // 2)) * read_gb_per_s, matmul_tflops)
