# diagnosis: the card had nothing left to do when the clock was first read
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    for _ in range(10):
        card.launch(weights)
    start = card.clock()
    for _ in range(20):
        card.launch(weights)
    card.synchronize()
    return (card.clock() - start) / 20
