"""The picture of one tensor-core instruction: its lanes are those that read these codes."""

import sys

import pytest
import torch

from gemlite_edu import load
from gemlite_lab import draw
from gemlite_lab.draw.gemv_mma import k_order, lane_of

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.gemv_mma"]


def test_every_lane_loads_the_codes_that_it_holds():
    """Which words of W a lane loads, by the simulator, and which of them has the code at (n, k)."""
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=128)
    x, order = torch.ones(1, 128).half(), k_order()
    loaded = {}
    codes = torch.zeros(16, 128, dtype=torch.uint8)
    report = kernel.inspect(x, *kernel.pack(codes, 1.0, 0.0))
    request = report.of("W_packed")[0].first
    for lane, start in request.bytes_of.items():
        loaded |= {byte: lane for byte in range(start, start + 16)}
    for place in range(16):
        codes = torch.zeros(16, 128, dtype=torch.uint8)
        codes[1, order[place]] = 15
        words = kernel.pack(codes, 1.0, 0.0)[0]
        (byte,) = words.view(torch.uint8).flatten().nonzero().flatten().tolist()
        assert loaded[byte] == lane_of(1, place)


def test_lanes_hold_eight_codes_each_of_neighbouring_k(capsys, monkeypatch):
    monkeypatch.setattr(drawing, "_draw", lambda *_: None)  # a second for each of 32 pictures
    order = k_order()
    assert sorted(order) == list(range(16))
    for lane in range(32):
        draw.gemv_mma(lane)
        g, t = divmod(lane, 4)
        told = f"rows {g} and {g + 8} at k = {4 * t}-{4 * t + 3}"
        assert capsys.readouterr().out.splitlines()[1] == f"lane {lane} holds 8 of W: {told}"


def test_the_picture_frames_the_parts_of_the_lane(monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.gemv_mma(5)
    w = figures[0].axes[0]
    texts = {text.get_position(): text.get_text() for text in w.texts}
    frames = [patch for patch in w.patches if patch.get_linewidth() == 2.5]
    assert len(frames) == 4
    assert {texts[patch.get_x() + 1, patch.get_y() + 0.5] for patch in frames} == {"5"}
    ticks = [tick.get_text() for tick in w.get_xticklabels()]
    assert ticks == [str(k) for k in k_order()]


def test_it_shows_one_picture(shown):
    draw.gemv_mma()
    assert shown[0].alt == "One instruction: 16 x 16 of W times x; lane 5 holds eight of W"


@pytest.mark.parametrize("lane", [-1, 32])
def test_a_lane_that_is_not_there_is_refused(lane, shown):
    with pytest.raises(ValueError, match=f"^lane must be from 0 to 31, got {lane}"):
        draw.gemv_mma(lane)
    assert not shown
