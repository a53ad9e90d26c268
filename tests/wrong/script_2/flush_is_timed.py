# diagnosis: It is none of the mistakes known here; hint("script_2", 1) may help.
def script_2(card, nbytes):
    weights, others = card.weights(nbytes), card.weights(2 * card.l2_bytes)
    card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(50):
        card.launch(others)
        card.launch(weights)
    card.synchronize()
    return (card.clock() - start) / 50
