# diagnosis: pack returned None: write it, and return W_packed
def pack(W_q, nbits):
    """Codes (N, K) uint8 -> words (N, words_per_row) int32."""
    # error YOUR CODE HERE
