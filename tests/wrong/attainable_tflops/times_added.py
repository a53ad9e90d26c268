# diagnosis: the times of reading and of computing are added, as if they did not overlap
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations = 2 * M * N * K
    seconds = nbytes / (read_gb_per_s * 1e9) + operations / (matmul_tflops * 1e12)
    return operations / seconds / 1e12
