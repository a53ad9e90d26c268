# diagnosis: script_1 returned None: write it, and return microseconds
def script_1(card, nbytes):
    """Microseconds of one launch that reads weights of nbytes, larger than the L2."""
    # error YOUR CODE HERE
