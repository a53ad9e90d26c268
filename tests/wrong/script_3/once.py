# diagnosis: the time of an interrupted launch is returned
def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    card.synchronize()
    start = card.clock()
    card.launch(copies[0])
    card.synchronize()
    return card.clock() - start
