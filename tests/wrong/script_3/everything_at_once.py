# diagnosis: the weights were never found in the L2, (4) no launch was interrupted.
import statistics


def script_3(card, nbytes):
    weights = card.weights(nbytes)
    times = []
    for _ in range(600):
        start = card.clock()
        card.launch(weights)
        times.append(card.clock() - start)
    return statistics.mean(times)
