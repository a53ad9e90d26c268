# diagnosis: microseconds is 3.6e-05, expected 36.
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock() * 1e-6
    for _ in range(50):
        card.launch(weights)
    card.synchronize()
    return (card.clock() * 1e-6 - start) / 50
