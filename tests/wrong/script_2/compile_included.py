# diagnosis: the first launch did not compile
def script_2(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    start = card.clock()
    for i in range(100):
        card.launch(copies[i % len(copies)])
    card.synchronize()
    return (card.clock() - start) / 100
