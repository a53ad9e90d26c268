# diagnosis: the weights were never found in the L2
def script_2(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(4 * card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    card.synchronize()
    start = card.clock()
    for weights in copies:
        card.launch(weights)
        card.launch(weights)
    card.synchronize()
    return (card.clock() - start) / (2 * len(copies))
