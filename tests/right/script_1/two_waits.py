def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(100):
        card.launch(weights)
    card.synchronize()
    return (card.clock() - start) / 100
