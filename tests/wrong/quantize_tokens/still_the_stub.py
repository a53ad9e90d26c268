# diagnosis: quantize_tokens returned None: write it, and return x_q, scales
def quantize_tokens(x):
    """x (M, K) -> x_q (M, K) int8, scales (M, 1) float32."""
