# diagnosis: the operations of one row of x are counted, not those of all M
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    operations = 2 * N * K
    return min(operations / nbytes * read_gb_per_s / 1e3, matmul_tflops)
