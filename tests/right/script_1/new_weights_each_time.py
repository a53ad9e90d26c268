def script_1(card, nbytes):
    card.launch(card.weights(nbytes))
    card.synchronize()
    start = card.clock()
    for _ in range(20):
        card.launch(card.weights(nbytes))
        card.synchronize()
    return (card.clock() - start) / 20
