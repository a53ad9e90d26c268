# diagnosis: a product and its sum are counted as one operation
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    return min(M * N * K / nbytes * read_gb_per_s / 1e3, matmul_tflops)
