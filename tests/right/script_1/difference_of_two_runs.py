def script_1(card, nbytes):
    weights = card.weights(nbytes)

    def run(count):
        card.synchronize()
        start = card.clock()
        for _ in range(count):
            card.launch(weights)
        card.synchronize()
        return card.clock() - start

    run(1)
    return (run(60) - run(10)) / 50
