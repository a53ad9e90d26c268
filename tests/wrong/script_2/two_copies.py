# diagnosis: the weights were never found in the L2
def script_2(card, nbytes):
    copies = [card.weights(nbytes), card.weights(nbytes)]
    card.launch(copies[0])
    card.synchronize()
    start = card.clock()
    for i in range(100):
        card.launch(copies[i % len(copies)])
    card.synchronize()
    return (card.clock() - start) / 100
