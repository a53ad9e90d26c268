# diagnosis: It is none of the mistakes known here; hint("attainable_tflops", 1) may help.
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    memory = 2 * M * N * K / (2 * N * K) * read_gb_per_s / 1e3
    return min(memory, matmul_tflops)
