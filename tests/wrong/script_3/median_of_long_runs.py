# diagnosis: no launch was interrupted
import statistics


def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])
    times = []
    for _ in range(5):
        card.synchronize()
        start = card.clock()
        for weights in copies * 500:
            card.launch(weights)
        card.synchronize()
        times.append((card.clock() - start) / (500 * len(copies)))
    return statistics.median(times)
