# diagnosis: the weights were never found in the L2
import statistics


def script_3(card, nbytes):
    copies = [card.weights(nbytes)]
    card.launch(copies[0])
    times = []
    for _ in range(50):
        card.synchronize()
        start = card.clock()
        for weights in copies:
            card.launch(weights)
        card.synchronize()
        times.append((card.clock() - start) / len(copies))
    return statistics.median(times)
