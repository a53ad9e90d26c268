"""The picture of the words of a row: its text and its boxes say what the address map says."""

import sys

import pytest

from gemlite_edu.packing import WarpInterleaved
from gemlite_lab.draw.lane_words import lane_words

drawing = sys.modules["gemlite_lab.draw.lane_words"]


def said(capsys):
    """{step: (word, [k or "padding"])} of the printed lines."""
    _, *lines = capsys.readouterr().out.splitlines()
    found = {}
    for line in lines:
        words = line.replace(",", "").replace(":", "").split()
        found[int(words[3])] = int(words[5]), words[8:]
    return found


@pytest.mark.parametrize("nbits, K, lane", [(8, 384, 5), (4, 384, 31), (3, 700, 0), (1, 1024, 9)])
def test_the_text_is_what_the_address_map_says(nbits, K, lane, shown, capsys):
    lane_words(nbits, K, lane)
    layout, steps = WarpInterleaved(nbits), said(capsys)
    held = {}
    for k in range(layout.padded_K(K)):
        address = layout.locate(0, k)
        held.setdefault(address.col, []).append((-address.shift, k))
    assert [word for word, _ in steps.values()] == [*range(lane, len(held), 32)]
    for word, ks in steps.values():
        assert ks == [str(k) if k < K else "padding" for _, k in sorted(held[word])]


def test_the_boxes_say_the_same_as_the_text(shown, capsys, monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    lane_words(4, 384, 5)
    steps = said(capsys)
    above, below = figures[0].axes
    words = {text.get_position(): text.get_text() for text in above.texts}
    codes = {text.get_position(): text.get_text() for text in below.texts}
    for step, (word, ks) in steps.items():
        assert words[5.5, step + 0.5] == str(word)
        boxes = [codes[j + 0.5, step + 0.5] for j in range(8)]
        assert boxes == ["0" if k == "padding" else f"k={k}" for k in ks]
    assert sorted(int(text) for text in words.values()) == list(range(64))


def test_it_shows_one_picture_and_says_what_it_is(shown):
    lane_words(8, 384, 5)
    (picture,) = shown
    assert picture.alt == "Lane 5 takes one word in each of 3 steps, 32 words apart"


@pytest.mark.parametrize(
    "nbits, K, lane, sentence",
    [
        (8, 384, 32, "lane must be from 0 to 31, got 32"),
        (8, 1000, 0, "a row of 1000 codes takes 8 steps, and the picture shows 6"),
    ],
)
def test_what_it_cannot_show_is_said(nbits, K, lane, sentence, shown):
    with pytest.raises(ValueError, match=sentence):
        lane_words(nbits, K, lane)
    assert not shown
