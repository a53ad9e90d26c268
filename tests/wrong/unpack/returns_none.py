# diagnosis: unpack returned None: write it, and return W_q
def unpack(W_packed, nbits, K):
    """Words (N, words_per_row) int32 -> codes (N, K) uint8."""
    words = W_packed.reshape(len(W_packed), -1, 32)
    print(words.shape)
