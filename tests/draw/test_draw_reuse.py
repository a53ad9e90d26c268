import sys

import pytest

from gemlite_lab import draw

drawing = sys.modules["gemlite_lab.draw.reuse"]  # draw.reuse is the function


def test_a_gemm_unpacks_once_for_all_rows(shown, capsys):
    draw.reuse(rows=3)
    assert capsys.readouterr().out.splitlines() == [
        "GEMV: 3 programs with 1 row of x each; the block of W is loaded and unpacked 3 times",
        "GEMM: 1 program with 3 rows of x each; the block of W is loaded and unpacked 1 time",
    ]
    assert len(shown) == 1


def test_the_picture_unpacks_as_often_as_is_printed(monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.reuse(rows=4)
    texts = [text.get_text() for text in figures[0].axes[0].texts]
    assert texts.count("unpacked") == texts.count("") == 4 + 1  # an arrow has an empty text
    assert texts.count("times row 3 of x") == texts.count("sums of row 3") == 2


@pytest.mark.parametrize("rows", [0, 5])
def test_rows_without_room_are_refused(rows, shown):
    with pytest.raises(ValueError, match=f"^the picture has room for 1 to 4 rows, got {rows}$"):
        draw.reuse(rows)
    assert not shown
