# diagnosis: right if: (1) the first launch did not compile, (2) no launch was interrupted.
def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    start = card.clock()
    card.launch(copies[0])
    card.synchronize()
    return card.clock() - start
