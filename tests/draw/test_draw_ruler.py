import re
import sys

import pytest
import torch

from gemlite_lab import draw

drawing = sys.modules["gemlite_lab.draw.ruler"]  # draw.ruler is the function

WEIGHTS = torch.tensor([-0.5, 0.2, 1.0, 0.0])  # with 2 bits a gap is 0.5, and the zero is 1


def test_each_weight_goes_to_the_nearest_mark(shown, capsys):
    draw.ruler(WEIGHTS, nbits=2)
    assert capsys.readouterr().out.splitlines() == [
        "4 marks, gaps of 0.5000; mark 1 stands for 0",
        "weight -0.5000 gets code  0, an error of  0.00 gaps",
        "weight  0.0000 gets code  1, an error of  0.00 gaps",
        "weight  0.2000 gets code  1, an error of -0.40 gaps",
        "weight  1.0000 gets code  3, an error of  0.00 gaps",
    ]
    assert shown[0].alt == "4 weights above a ruler with 4 marks; lines lead to the nearest ones"


def test_the_picture_shows_what_is_printed(monkeypatch, capsys):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.ruler(torch.randn(12, generator=torch.Generator().manual_seed(0)))
    axes, out = figures[0].axes[0], capsys.readouterr().out
    lines = [line.get_xdata() for line in axes.lines if line.get_ydata()[0] < 0]
    ways = [way for way in lines if len(way) == 2]
    printed = re.findall(r"code +(\d+), an error of +(-?[\d.]+) gaps", out)
    assert [(int(code), f"{code - place:.2f}") for place, code in ways] == [
        (int(code), off) for code, off in printed
    ]
    (framed,) = (patch for patch in axes.patches if patch.get_zorder() == 3)
    assert f"mark {framed.get_x() + 0.5:.0f} stands for 0" in out


@pytest.mark.parametrize(
    "weights, nbits", [(torch.ones(2, 2), 4), (torch.ones(13), 4), (torch.ones(0), 4), (WEIGHTS, 5)]
)
def test_weights_without_room_are_refused(weights, nbits, shown):
    with pytest.raises(ValueError, match="^weights must be one to 12 numbers in a row"):
        draw.ruler(weights, nbits)
    assert not shown
