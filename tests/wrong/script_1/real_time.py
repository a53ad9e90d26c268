# diagnosis: 32 MB of weights, L2 of 8 MB, 1000 GB/s: microseconds is 0, expected 36.
def clock():
    return 0.0  # the time of another machine


def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = clock()
    for _ in range(100):
        card.launch(weights)
    card.synchronize()
    return (clock() - start) / 100
