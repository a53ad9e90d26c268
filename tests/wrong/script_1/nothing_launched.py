# diagnosis: script_1 launched nothing on the card that it was given: measure there
def script_1(card, nbytes):
    start = card.clock()
    card.weights(nbytes)
    card.synchronize()
    return card.clock() - start
