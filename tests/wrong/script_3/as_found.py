# diagnosis: no launch was interrupted
import statistics


def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    card.launch(copies[-1])  # untimed: it compiles
    times = []
    for _ in range(50):
        card.synchronize()
        start = card.clock()
        for weights in copies:
            card.launch(weights)
        card.synchronize()
        times.append((card.clock() - start) / len(copies))
    return statistics.mean(times)
