# diagnosis: a launch returned only when its work is done
def script_2(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    card.synchronize()
    start = card.clock()
    for weights in copies:
        card.launch(weights)
    return (card.clock() - start) / len(copies)
