# diagnosis: launch what card.weights(nbytes) gives, got a int
def script_1(card, nbytes):
    card.launch(nbytes)
    card.synchronize()
    start = card.clock()
    card.launch(nbytes)
    card.synchronize()
    return card.clock() - start
