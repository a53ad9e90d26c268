# diagnosis: the time of an interrupted launch is returned
def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    times = []
    for i in range(600):
        card.synchronize()
        start = card.clock()
        card.launch(copies[i % len(copies)])
        card.synchronize()
        times.append(card.clock() - start)
    return max(times)
