"""The picture of warps' turns: the steps that the kernel's loop takes."""

import sys

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners import kernel as kernel_module
from gemlite_lab import draw
from gemlite_lab.draw.warp_turns import turns_of_warp

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.warp_turns"]


@pytest.mark.parametrize("blocks, warps, tiles, steps", [(3, 4, 7, 6), (1, 1, 2, 3), (2, 5, 5, 5)])
def test_all_blocks_together_take_each_step_once(blocks, warps, tiles, steps):
    taken = [
        cell
        for block in range(blocks)
        for warp in range(warps)
        for cell in turns_of_warp(block, warp, blocks, warps, tiles, steps)
    ]
    assert sorted(taken) == [(tile, step) for tile in range(tiles) for step in range(steps)]


def test_every_warp_loads_as_often_as_it_has_turns(monkeypatch):
    """After the first barrier a warp asks for all of its steps but the first."""
    few_blocks = SIMULATED._replace(multiprocessors=2)
    monkeypatch.setattr(kernel_module, "machine_of", lambda _: few_blocks)
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=128)
    N, K = 160, 128 * 40
    operands = kernel.pack(torch.zeros(N, K, dtype=torch.uint8), 1.0, 0.0)
    launch = kernel.plan(1, N, K).product
    warps, tiles = launch.defines["WARPS"], N // (16 * launch.defines["TILES"])
    turns = [turns_of_warp(0, w, launch.grid[0], warps, tiles, K // 128) for w in range(warps)]
    assert len({len(listed) for listed in turns}) == 2
    report = kernel.inspect(torch.ones(1, K).half(), *operands)
    loads = [loads for loads, *_ in report.phases[1].requests]
    of_a_step = max(loads) // (max(map(len, turns)) - 1)
    assert loads == [of_a_step * (len(listed) - 1) for listed in turns]


def test_the_turns_as_text(capsys):
    draw.warp_turns(blocks=3, warps=4, tiles=7, steps=6)
    assert capsys.readouterr().out.splitlines() == [
        "7 tiles of 6 steps; block 0 takes 3",
        "warp 0: (tile, step) = (0, 0), (0, 4), (3, 2), (6, 0), (6, 4)",
        "warp 1: (tile, step) = (0, 1), (0, 5), (3, 3), (6, 1), (6, 5)",
        "warp 2: (tile, step) = (0, 2), (3, 0), (3, 4), (6, 2)",
        "warp 3: (tile, step) = (0, 3), (3, 1), (3, 5), (6, 3)",
    ]


def test_the_picture_asks_one_turn_before_it_multiplies(monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.warp_turns(blocks=3, warps=4, tiles=7, steps=6)
    above, below = figures[0].axes
    own = [text.get_text() for text in above.texts if text.get_text()]
    assert len(own) == 18 and own.count("warp 0") == 5
    places = {text.get_position(): text.get_text() for text in below.texts}
    for (x, y), text in places.items():
        if int(y) % 2 == 0:
            assert places[x + 1, y + 1] == text


@pytest.mark.parametrize("numbers", [(3, 7, 7, 6), (8, 4, 7, 6), (3, 4, 100, 6)])
def test_numbers_that_do_not_fit_are_refused(numbers, shown):
    with pytest.raises(ValueError, match="^there must be at least as many steps as warps"):
        draw.warp_turns(*numbers)
    assert not shown
