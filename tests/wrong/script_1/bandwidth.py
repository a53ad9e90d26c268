# diagnosis: GB/s are returned instead of microseconds
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(100):
        card.launch(weights)
    card.synchronize()
    return 100 * nbytes / (card.clock() - start) / 1e3
