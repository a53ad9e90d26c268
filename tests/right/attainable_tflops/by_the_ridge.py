def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    ridge = matmul_tflops * 1e12 / (read_gb_per_s * 1e9)
    intensity = 2 * M * N * K / nbytes
    if intensity > ridge:
        return matmul_tflops
    return matmul_tflops * intensity / ridge
