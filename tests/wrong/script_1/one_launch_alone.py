# diagnosis: the first launch did not compile
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    start = card.clock()
    card.launch(weights)
    card.synchronize()
    return card.clock() - start
