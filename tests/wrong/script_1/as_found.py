# diagnosis: a launch returned only when its work is done
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    start = card.clock()
    for _ in range(100):
        card.launch(weights)
    return (card.clock() - start) / 100
