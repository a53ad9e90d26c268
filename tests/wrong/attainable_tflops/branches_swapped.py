# diagnosis: the higher of the two limits is taken
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    memory = 2 * M * N * K / nbytes * read_gb_per_s / 1e3
    if memory < matmul_tflops:
        return matmul_tflops
    return memory
