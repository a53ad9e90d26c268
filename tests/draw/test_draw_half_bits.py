"""The picture of fp16 numbers as bits: what it prints is what torch reads."""

import re
import sys

import pytest
import torch

from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.half_bits"]
HALVES = {"1024": 0x6400, "with code 5": 0x6405, "with code 5 << 4": 0x6450, "-0.1": 0xAE66}


@pytest.fixture
def figures(monkeypatch):
    found = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: found.append(figure))
    return found


def test_each_number_reads_as_torch_reads_it(capsys):
    draw.half_bits(HALVES)
    lines = capsys.readouterr().out.splitlines()
    for line, (label, bits) in zip(lines, HALVES.items(), strict=True):
        fields = re.fullmatch(
            rf"{label} +([01]) ([01]{{5}}) ([01]{{10}})  "
            r"reads (-?)2\^(-?\d+) \(1 \+ (\d+)/1024\) = (\S+)",
            line,
        )
        *digits, sign, power, fraction, value = fields.groups()
        assert int("".join(digits), 2) == bits
        right = torch.tensor([bits - 2**16 * (bits > 0x7FFF)]).short().view(torch.float16).item()
        assert float(f"{sign}1") * 2.0 ** int(power) * (1 + int(fraction) / 1024) == right
        assert float(value) == pytest.approx(right)


def test_the_picture_has_the_bits_and_a_frame_around_a_code(figures):
    draw.half_bits({"a": 0x6450}, {"a": (4, 4)})
    (axes,) = figures[0].axes
    digits = {t.get_position()[0]: t.get_text() for t in axes.texts if t.get_text() in "01"}
    assert "".join(digits[column + 0.5] for column in range(16)) == f"{0x6450:016b}"
    frame = axes.patches[-1]
    assert (frame.get_x(), frame.get_width()) == (8, 4), "bits 7 to 4 are columns 8 to 11"


def test_it_shows_one_picture_that_says_the_numbers(shown):
    draw.half_bits(HALVES)
    assert "1024: 1024, with code 5: 1029" in shown[0].alt


@pytest.mark.parametrize("bits", [0, 0x8001, 0x7C00, 2**16, -1])
def test_bits_of_no_ordinary_number_are_refused(bits, shown):
    with pytest.raises(ValueError, match="^x: the bits must be those of an fp16 number with"):
        draw.half_bits({"x": bits})
    assert not shown
