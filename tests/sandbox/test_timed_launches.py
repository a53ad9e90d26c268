"""Which launches of a benchmark script lie between two readings of its card's clock."""

from gemlite_lab.sandbox.toy_cards import measure, timed_launches


def calls_of(script):
    ((_, calls),) = measure(script, {}, 1.0, False, (100,), 1000)
    return calls


def test_launches_before_and_behind_all_readings_are_not_timed():
    def script(card, nbytes):
        weights = card.weights(nbytes)
        for launches in (3, 2, 4, 1):
            for _ in range(launches):
                card.launch(weights)
            card.synchronize()
            card.clock()
        card.launch(weights)
        return 1.0

    assert timed_launches(calls_of(script)) == [3, 4, 5, 6, 7, 8, 9]


def test_without_a_reading_nothing_is_timed():
    def script(card, nbytes):
        card.launch(card.weights(nbytes))
        return 1.0

    assert timed_launches(calls_of(script)) == []
    assert timed_launches(calls_of(lambda card, nbytes: 1.0)) == []
