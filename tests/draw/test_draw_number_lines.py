import IPython.display
import pytest
import torch

from gemlite_lab import draw

INT4 = torch.arange(-7.0, 8)
FLOATS = torch.tensor([-4.0, -2, -1, -0.5, 0, 0.125, 0.5, 1, 2, 4, 0.0])


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(IPython.display, "display", pictures.append)
    return pictures


def test_the_gaps_as_text_and_as_one_picture(shown, capsys):
    draw.number_lines({"int4": INT4, "float": FLOATS}, torch.tensor([0.5, -0.25, 8, 1]), "x")
    assert capsys.readouterr().out.splitlines() == [
        " int4: 15 numbers; the two nearest to 0 are 0.14 apart, the two largest 0.14; "
        "0 between 0 and 1/16",
        "float: 10 numbers; the two nearest to 0 are 0.031 apart, the two largest 0.5; "
        "1 between 0 and 1/16",
        "x: 2 of 4 are within 1/16 of the largest",
    ]
    (picture,) = shown
    assert picture.data.startswith(b"\x89PNG") and len(picture.data) < 40_000
    assert picture.alt == "The numbers of int4, float, and x, from end to end"


def test_without_a_number_at_0_the_gap_is_the_one_around_it(shown, capsys):
    draw.number_lines({"even": torch.tensor([-3.0, -1, 1, 3])}, INT4, "x")
    said = capsys.readouterr().out.splitlines()[0]
    assert said == " even: 4 numbers; the two nearest to 0 are 0.67 apart, the two largest 0.67"


def test_small_numbers_are_drawn_larger_only_where_a_format_has_them(shown):
    draw.number_lines({"float": FLOATS}, INT4, "x")
    draw.number_lines({"int4": INT4}, FLOATS, "x")
    with_part, without = (height_of(picture) for picture in shown)
    assert with_part == pytest.approx(2 * without, rel=0.1)


def height_of(picture):
    return int.from_bytes(picture.data[20:24], "big")  # of a PNG's header


def test_what_cannot_be_drawn_gives_a_sentence(shown):
    with pytest.raises(ValueError, match="formats must name at least one format, got none"):
        draw.number_lines({}, INT4, "x")
    for bad in (torch.zeros(3), torch.tensor([1, torch.inf]), torch.tensor([torch.nan])):
        with pytest.raises(ValueError, match="x must have finite numbers that are not all 0"):
            draw.number_lines({"int4": INT4}, bad, "x")
    assert not shown
