import sys
from collections import Counter
from math import ceil

import pytest

from gemlite_lab import draw
from gemlite_lab.bench import instructions
from gemlite_lab.draw.issue_slots import schedule

drawing = sys.modules["gemlite_lab.draw.issue_slots"]  # draw.issue_slots is the function

KERNELS = list(instructions.recorded()["kernels"])


@pytest.mark.parametrize("weights", [1, 8, 32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slots_hold_all_instructions_within_the_limits(kernel, weights):
    every, integer = instructions.per_weight(kernel)
    cycles = schedule(every, integer, weights)
    counts = Counter(kind for cycle in cycles for kind in cycle)
    assert counts["shared load"] == weights
    assert counts["integer"] == round(integer * weights)
    assert counts.total() - counts["empty"] == round(every * weights)
    for cycle in cycles:
        assert len(cycle) == 4
        assert cycle.count("integer") <= 2 and cycle.count("shared load") <= 1
    fewest = max(round(every * weights) / 4, round(integer * weights) / 2, weights)
    assert len(cycles) == ceil(fewest)


def test_the_slots_as_text_and_picture(shown, capsys):
    draw.issue_slots({"plain": (7, 3), "paired": (6, 4)}, weights=4)
    assert capsys.readouterr().out.splitlines() == [
        "plain: 7 cycles for 4 weights: 4 shared load, 12 integer, 12 other, 0 empty",
        "paired: 8 cycles for 4 weights: 4 shared load, 16 integer, 4 other, 8 empty",
    ]
    assert shown[0].alt.endswith("slot by slot: plain in 7, paired in 8")


def test_the_picture_has_a_box_for_each_slot(monkeypatch, capsys):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.issue_slots({"paired": (6, 4)}, weights=4)
    colors = Counter(patch.get_facecolor() for patch in figures[0].axes[0].patches)
    assert sorted(colors.values()) == [4, 4, 8, 16]


def test_without_kernels_or_weights_nothing_is_drawn(shown):
    for budget, weights in (({}, 8), ({"plain": (7, 3)}, 0)):
        with pytest.raises(ValueError, match="^budget must name kernels and weights be at least 1"):
            draw.issue_slots(budget, weights)
    assert not shown
