# diagnosis: the weights were never found in the L2
def script_2(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(max(1, card.l2_bytes // nbytes))]
    for weights in copies:
        card.launch(weights)
    card.synchronize()
    start = card.clock()
    for i in range(100):
        card.launch(copies[i % len(copies)])
    card.synchronize()
    return (card.clock() - start) / 100
