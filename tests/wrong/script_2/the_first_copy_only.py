# diagnosis: the weights were never found in the L2
def script_2(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(2 * card.l2_bytes // nbytes + 1)]
    for weights in copies:
        card.launch(weights)
    card.synchronize()
    start = card.clock()
    for _ in range(100):
        card.launch(copies[0])
    card.synchronize()
    return (card.clock() - start) / 100
