# diagnosis: cannot assign to field 'interruption_us'
def script_3(card, nbytes):
    card.interruption_us = 0.0
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    times = []
    for _ in range(5):
        card.synchronize()
        start = card.clock()
        for weights in copies:
            card.launch(weights)
        card.synchronize()
        times.append((card.clock() - start) / len(copies))
    return sum(times) / 5
