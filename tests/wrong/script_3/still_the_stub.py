# diagnosis: script_3 returned None: write it, and return microseconds
def script_3(card, nbytes):
    """Microseconds of one uninterrupted launch that reads weights of nbytes from the memory."""
    # error YOUR CODE HERE
