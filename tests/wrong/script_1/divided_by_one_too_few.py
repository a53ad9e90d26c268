# diagnosis: It is none of the mistakes known here; hint("script_1", 1) may help.
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(11):
        card.launch(weights)
    card.synchronize()
    return (card.clock() - start) / 10
