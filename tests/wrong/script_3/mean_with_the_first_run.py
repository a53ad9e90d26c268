# diagnosis: right if: (1) the first launch did not compile, (2) no launch was interrupted.
import statistics


def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    times = []
    for _ in range(50):
        start = card.clock()
        for weights in copies:
            card.launch(weights)
        card.synchronize()
        times.append((card.clock() - start) / len(copies))
    return statistics.mean(times)
