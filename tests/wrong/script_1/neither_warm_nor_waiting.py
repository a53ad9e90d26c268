# diagnosis: (1) a launch returned only when its work is done, (2) the first launch did not compile.
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    start = card.clock()
    for _ in range(100):
        card.launch(weights)
    return (card.clock() - start) / 100
