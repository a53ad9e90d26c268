# diagnosis: only the limit of the arithmetic is taken
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    return matmul_tflops
