# diagnosis: floor_us returned None: write it, and return microseconds
def floor_us(N, K, nbits, group_size, read_gb_per_s):
    """Microseconds, not rounded, that reading packed weights, scales and zeros takes."""
    # error YOUR CODE HERE
