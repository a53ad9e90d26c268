# diagnosis: no launch was interrupted
def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    card.synchronize()
    start = card.clock()
    for i in range(1000):
        card.launch(copies[i % len(copies)])
    card.synchronize()
    return (card.clock() - start) / 1000
