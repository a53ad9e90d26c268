"""The timer without a GPU: what it makes of the times that a clock gives."""

import pytest

from gemlite_edu.runners.timing import REPLAYS, copies_needed, time_replays

MB = 1_000_000


class FakeClock:
    """A clock whose replays take the given times, one after the other."""

    def __init__(self, times):
        self._times = list(times)
        self.replays = 0

    def replay(self):
        self.replays += 1
        return self._times[self.replays - 1]


def test_the_percentiles_are_those_of_the_times():
    timing = time_replays(FakeClock([0.0, 100.0, 10.0, 2.0, 1.0, 20.0, 30.0]), replays=6)
    assert (timing.p20, timing.p50, timing.p80) == pytest.approx((2, 15, 30))


def test_the_first_replay_is_not_counted():
    timing = time_replays(FakeClock([1e6, *[5.0] * REPLAYS]))
    assert (timing.p20, timing.p50, timing.p80) == (5, 5, 5)


@pytest.mark.parametrize("replays", [1, 7])
def test_so_many_replays_as_asked_for_and_one_more(replays):
    clock = FakeClock([3.0] * 100)
    time_replays(clock, replays)
    assert clock.replays == replays + 1
    clock = FakeClock([3.0] * 100)
    time_replays(clock)
    assert clock.replays == REPLAYS + 1


def test_what_comes_before_each_replay_comes_before_each():
    clock = FakeClock([3.0] * 100)
    replays_before = []
    time_replays(clock, 4, before_each=lambda: replays_before.append(clock.replays))
    assert replays_before == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("l2_bytes", [4 * MB, 50 * MB, 60 * MB + 1])
@pytest.mark.parametrize("nbytes", [1, 999, MB, 8 * MB, 20 * MB, 60 * MB + 1, 400 * MB])
def test_all_copies_exceed_four_times_the_l2_and_no_more_than_they_must(nbytes, l2_bytes):
    copies = copies_needed(nbytes, l2_bytes)
    assert copies * nbytes > 4 * l2_bytes
    assert copies == 4 or (copies > 4 and (copies - 1) * nbytes <= 4 * l2_bytes)
