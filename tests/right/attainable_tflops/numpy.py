import numpy as np


def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    memory = np.float64(read_gb_per_s) * 1e9 * (M * N * K + M * N * K) / nbytes
    return np.minimum(memory, matmul_tflops * 1e12) / 1e12
