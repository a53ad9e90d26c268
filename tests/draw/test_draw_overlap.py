"""The picture of overlapping warps: its model obeys its own rules, and its text says its times."""

import sys

import pytest

from gemlite_lab import draw
from gemlite_lab.draw.overlap import schedule

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.overlap"]
CASES = [(1, False), (1, True), (4, False), (4, True), (7, False)]


@pytest.mark.parametrize("warps, is_ahead", CASES)
def test_words_are_multiplied_after_they_came_by_one_warp_at_a_time(warps, is_ahead):
    found = schedule(warps, is_ahead, turns=5, latency=6, work=2)
    assert [sum(turn.warp == w for turn in found) for w in range(warps)] == [5] * warps
    for turn in found:
        assert turn.came == turn.asked + 6 <= turn.began and turn.ended == turn.began + 2
    for before, after in zip(found, found[1:], strict=False):
        assert before.ended <= after.began
    for w in range(warps):
        own = [turn for turn in found if turn.warp == w]
        for before, after in zip(own, own[1:], strict=False):
            assert after.asked == (before.began if is_ahead else before.ended)


@pytest.mark.parametrize(
    "warps, is_ahead, ends",
    [(1, False, 4 * 8), (1, True, 6 + 3 * 6 + 2), (4, False, 6 + 16 * 2), (4, True, 6 + 16 * 2)],
)
def test_the_end_is_the_latency_or_the_work_whichever_is_longer(warps, is_ahead, ends):
    found = schedule(warps, is_ahead, turns=4, latency=6, work=2)
    assert max(turn.ended for turn in found) == ends


def test_the_text_says_the_time_of_a_step(capsys, shown):
    draw.overlap({"one": (1, False), "four": (4, False)}, turns=4, latency=6, work=2)
    assert capsys.readouterr().out.splitlines() == [
        "one: 4 steps in 32 units of time, 8.0 for each",
        "four: 16 steps in 38 units of time, 2.4 for each",
    ]
    assert shown[0].alt == "Words on their way, and multiplied: one, four"


def test_each_turn_is_two_boxes_at_its_times(monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.overlap({"ahead": (2, True)}, turns=2, latency=3, work=1)
    boxes = {(p.get_x(), p.get_width(), p.get_y() % 1 > 0) for p in figures[0].axes[0].patches}
    expected = set()
    for turn in schedule(2, True, turns=2, latency=3, work=1):
        expected |= {(turn.asked, 3, False), (turn.began, 1, True)}
    assert boxes == expected


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_numbers_below_one_are_refused(numbers, shown):
    with pytest.raises(ValueError, match="^warps, turns, latency and work must be at least 1, got"):
        draw.overlap({"one": (1, False)}, *numbers)
    assert not shown
