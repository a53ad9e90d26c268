# diagnosis: the bytes are divided by the operations; it is operations per byte
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    intensity = nbytes / (2 * M * N * K)
    return min(intensity * read_gb_per_s / 1e3, matmul_tflops)
