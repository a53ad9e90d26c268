def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations = 2 * M * N * K
    us = max(nbytes / (read_gb_per_s * 1e3), operations / (matmul_tflops * 1e6))
    return operations / us / 1e6
