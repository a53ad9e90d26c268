# diagnosis: a launch returned only when its work is done
def script_1(card, nbytes):
    weights = card.weights(nbytes)
    card.launch(weights)
    times = []
    for _ in range(10):
        card.synchronize()
        start = card.clock()
        card.launch(weights)
        times.append(card.clock() - start)
    return sorted(times)[5]
