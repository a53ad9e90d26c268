# diagnosis: only when its work is done, (2) the weights were never found in the L2.
def script_2(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    start = card.clock()
    for _ in range(10):
        card.launch(weights)
    return (card.clock() - start) / 10
