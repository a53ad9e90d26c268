# diagnosis: script_2 raised ZeroDivisionError at `card.launch(copies[i % len(copies)])` on 16 MB
def script_2(card, nbytes):
    copies = [
        card.weights(nbytes)
        for _ in range(4 * card.l2_bytes // nbytes - 1 and 4 * card.l2_bytes // nbytes)
    ]
    card.launch(card.weights(nbytes))
    card.synchronize()
    start = card.clock()
    for i in range(100):
        card.launch(copies[i % len(copies)])
    card.synchronize()
    return (card.clock() - start) / 100
