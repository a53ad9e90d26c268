# diagnosis: pack_sparse returned None: write it, and return W_packed
def pack_sparse(W_q, kept):
    """Codes (N, K) uint8, kept (N, K) bool -> words (N, words_per_row) int32."""
    # error YOUR CODE HERE
