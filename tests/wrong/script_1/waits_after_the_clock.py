# diagnosis: a launch returned only when its work is done
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(30):
        card.launch(weights)
    stop = card.clock()
    card.synchronize()
    return (stop - start) / 30
