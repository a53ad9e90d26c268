# diagnosis: the first launch did not compile
def script_2(card, nbytes):
    start = card.clock()
    card.launch(card.weights(nbytes))
    card.synchronize()
    return card.clock() - start
