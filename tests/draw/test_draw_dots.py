"""The picture of a tile in a GEMM: every k once, in planes that fit the blocks."""

import re
import sys

import pytest

from gemlite_lab.draw.dots import dots

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.dots"]


@pytest.mark.parametrize("block_n, block_m, planes", [(32, 16, 8), (64, 128, 4), (1, 1, 1)])
def test_planes_and_slices_share_their_k_and_their_colour(
    block_n, block_m, planes, capsys, monkeypatch
):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    dots(block_n, block_m, planes)
    *lines, last = capsys.readouterr().out.splitlines()
    ks = [tuple(map(int, re.search(r"k = (\d+) to (\d+)$", line).groups())) for line in lines]
    assert ks == [(16 * plane, 16 * plane + 15) for plane in range(planes)]
    assert re.findall(r"\d+", last) == [str(block_m), str(block_n)]
    *boxes, sums = figures[0].axes[0].patches
    for of_W, of_x, (first, _) in zip(boxes[::2], boxes[1::2], ks, strict=True):
        assert (of_W.get_x(), of_W.get_width(), of_W.get_height()) == (first, 16, block_n)
        assert (of_x.get_y(), of_x.get_height(), of_x.get_width()) == (first, 16, block_m)
        assert of_W.get_facecolor() == of_x.get_facecolor()
        assert (sums.get_y(), sums.get_x()) == (of_W.get_y(), of_x.get_x())
    assert (sums.get_width(), sums.get_height()) == (block_m, block_n)


def test_a_number_below_one_is_refused(shown):
    with pytest.raises(ValueError, match="at least 1, got 32, 0, 8$"):
        dots(32, 0, 8)
    assert not shown
