# diagnosis: the time of a whole run over the copies is returned instead of one launch's
import statistics


def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    times = []
    for _ in range(50):
        card.synchronize()
        start = card.clock()
        for weights in copies:
            card.launch(weights)
        card.synchronize()
        times.append(card.clock() - start)
    return statistics.median(times)
