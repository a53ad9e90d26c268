def script_2(card, nbytes):
    weights, others = card.weights(nbytes), card.weights(2 * card.l2_bytes)
    card.launch(weights)
    total = 0
    for _ in range(20):
        card.launch(others)
        card.synchronize()
        start = card.clock()
        card.launch(weights)
        card.synchronize()
        total += card.clock() - start
    return total / 20
