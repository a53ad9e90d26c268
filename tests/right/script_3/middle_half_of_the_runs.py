import itertools


def script_3(card, nbytes):
    copies = [card.weights(nbytes) for _ in range(card.l2_bytes // nbytes + 1)]
    in_turn = itertools.cycle(copies)
    card.launch(copies[-1])
    times = []
    for _ in range(40):
        card.synchronize()
        start = card.clock()
        for _ in range(20):
            card.launch(next(in_turn))
        card.synchronize()
        times.append((card.clock() - start) / 20)
    kept = sorted(times)[10:30]
    return sum(kept) / 20
