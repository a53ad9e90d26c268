"""The toy card: each trap alone, and one true time for every honest way to measure."""

import dataclasses
import itertools
import statistics

import pytest

from gemlite_lab.lesson.toy_card import ToyCard

MB = 1_000_000


def calm_card(**settings):
    """A card that has nothing to compile and is never interrupted."""
    return ToyCard(compile_us=0.0, interruption_us=0.0, **settings)


def timed(card, weights):
    """Microseconds of one launch that was waited for."""
    card.synchronize()
    start = card.clock()
    card.launch(weights)
    card.synchronize()
    return card.clock() - start


def test_a_new_card_has_done_nothing():
    card = ToyCard()
    card.synchronize()
    assert card.clock() == 0
    card.weights(8 * MB)
    assert card.clock() == 0


def test_a_card_counts_its_launches():
    card = ToyCard()
    assert card.launches == 0
    for _ in range(3):
        card.launch(card.weights(8 * MB))
    assert card.launches == 3
    assert dataclasses.replace(card).launches == 0


def test_a_launch_takes_its_start_and_its_bytes():
    assert timed(calm_card(), calm_card().weights(8 * MB)) == 4 + 8
    assert timed(calm_card(read_gb_per_s=500.0), calm_card().weights(8 * MB)) == 4 + 16
    assert timed(calm_card(start_us=0.0), calm_card().weights(1)) == 2, "the host is busy for that"


def test_a_launch_returns_before_its_work_is_done():
    card = calm_card()
    weights = card.weights(64 * MB)
    for _ in range(10):
        card.launch(weights)
    assert card.clock() == 10 * 2
    card.synchronize()
    assert card.clock() == 10 * 68
    card.synchronize()
    assert card.clock() == 10 * 68


def test_work_runs_in_the_order_of_the_launches():
    card = calm_card()
    card.launch(card.weights(64 * MB))
    card.launch(card.weights(8 * MB))
    card.synchronize()
    assert card.clock() == 68 + 12


def test_without_asynchrony_a_launch_waits():
    card = calm_card(asynchronous=False)
    card.launch(card.weights(64 * MB))
    assert card.clock() == 68


def test_only_the_first_launch_of_a_card_compiles():
    card = ToyCard(interruption_us=0.0)
    weights = card.weights(64 * MB)
    assert timed(card, weights) == 100_000 + 68
    assert timed(card, weights) == 68
    assert timed(card, card.weights(64 * MB)) == 68


def test_what_was_read_lately_comes_from_the_l2():
    card = calm_card()
    first, second = card.weights(16 * MB), card.weights(16 * MB)
    assert [timed(card, w) for w in (first, second, first, second)] == [20, 20, 8, 8]


def test_what_was_read_longest_ago_leaves_the_l2():
    card = calm_card()
    first, second, third = (card.weights(16 * MB) for _ in range(3))
    assert [timed(card, w) for w in (first, second, first, third)] == [20, 20, 8, 20]
    assert [timed(card, w) for w in (first, second)] == [8, 20]


@pytest.mark.parametrize(("copies", "us"), [(4, 6), (5, 12)])
def test_copies_in_turn_are_cold_once_they_exceed_the_l2(copies, us):
    card = calm_card()
    weights = [card.weights(8 * MB) for _ in range(copies)]
    times = [timed(card, w) for _ in range(3) for w in weights]
    assert set(times[copies:]) == {us}


def test_weights_larger_than_the_l2_leave_nothing_in_it():
    card = calm_card()
    small, large = card.weights(8 * MB), card.weights(33 * MB)
    assert [timed(card, w) for w in (small, small, large, large, small)] == [12, 6, 37, 37, 12]


@pytest.mark.parametrize("first", [0, 3, 100])
def test_one_launch_in_500_is_interrupted(first):
    card = ToyCard(compile_us=0.0, first_interruption=first)
    weights = card.weights(64 * MB)
    times = [timed(card, weights) for _ in range(first + 1001)]
    assert [i for i, us in enumerate(times) if us != 68] == [first, first + 500, first + 1000]
    assert times[first] == 68 + 5000


@pytest.mark.parametrize("waits_each_time", [False, True])
@pytest.mark.parametrize("launches", [1, 5, 100])
@pytest.mark.parametrize("first", [0, 1, 7, 250, 499])
def test_every_honest_way_to_measure_gives_the_same_time(first, launches, waits_each_time):
    card = ToyCard(first_interruption=first)
    copies = itertools.cycle([card.weights(8 * MB) for _ in range(5)])
    times = []
    for _ in range(25):
        card.synchronize()
        start = card.clock()
        for _ in range(launches):
            card.launch(next(copies))
            if waits_each_time:
                card.synchronize()
        card.synchronize()
        times.append((card.clock() - start) / launches)
    assert statistics.median(times) == pytest.approx(12, rel=1e-9)


def test_two_cards_with_the_same_settings_behave_alike_and_apart():
    card = calm_card()
    weights = card.weights(8 * MB)
    timed(card, weights)
    other = dataclasses.replace(card)
    assert other.clock() == 0
    assert timed(other, weights) == 12
    assert timed(card, weights) == 6


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToyCard().compile_us = 0.0


@pytest.mark.parametrize("nbytes", [0, -1, 0.5, float("nan")])
def test_weights_have_bytes(nbytes):
    with pytest.raises(ValueError, match=f"weights have at least 1 byte, got {nbytes}"):
        ToyCard().weights(nbytes)


def test_only_weights_are_launched():
    with pytest.raises(TypeError, match=r"launch what card.weights\(nbytes\) gives, got a int"):
        ToyCard().launch(8 * MB)


@pytest.mark.parametrize("name", ["read_gb_per_s", "l2_gb_per_s"])
def test_a_speed_is_above_0(name):
    with pytest.raises(ValueError, match="read_gb_per_s and l2_gb_per_s must be above 0"):
        ToyCard(**{name: 0.0})
