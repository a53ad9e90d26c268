# diagnosis: attainable_tflops returned None: write it, and return tflops
def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    """TFLOP/s, not rounded, that y = x Wᵀ can reach at best."""
    # error YOUR CODE HERE
