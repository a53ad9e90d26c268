# diagnosis: tflops[2] is 500, expected
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    memory = 2 * M * N * K / nbytes * read_gb_per_s / 1e3
    return memory if M < 128 else matmul_tflops
