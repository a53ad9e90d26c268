# diagnosis: script_2 returned None: write it, and return microseconds
def script_2(card, nbytes):
    """Microseconds of one launch that reads weights of nbytes from the memory."""
    # error YOUR CODE HERE
