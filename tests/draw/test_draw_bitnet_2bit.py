"""The picture of BitNet's tile: the address map, and what a lane of the GEMV really loads."""

import re
import sys

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.packing.bitnet_2bit import Bitnet2Bit, pack_bitnet_2bit, unpack_bitnet_2bit
from gemlite_lab.draw.bitnet_2bit import bitnet_2bit

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.bitnet_2bit"]
OPENED = [(0, 0), (9, 20), (15, 31), (7, 16), (8, 15)]


@pytest.fixture
def figures(monkeypatch):
    """The figures that are shown, before they become pictures."""
    found = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: found.append(figure))
    return found


def word_of(n, k):
    address = Bitnet2Bit(32).locate(n, k)
    return 2 * address.row + address.col


def test_each_word_is_drawn_over_its_codes_with_its_lane(figures):
    bitnet_2bit()
    tile, _ = figures[0].axes
    found = {}
    for text in tile.texts:
        word, lane = map(int, re.findall(r"\d+", text.get_text()))
        x, y = text.get_position()
        for k in range(int(x) - 8, int(x) + 8):
            found[int(y), k] = word, lane
    expected = {(n, k): word_of(n, k) for n in range(16) for k in range(32)}
    assert found == {place: (word, word // 4) for place, word in expected.items()}


@pytest.mark.parametrize("n, k", OPENED)
def test_the_word_is_opened_bit_by_bit(n, k, figures, capsys):
    bitnet_2bit(n, k)
    tile, bits = figures[0].axes
    layout = Bitnet2Bit(32)
    ks = [other for other in range(32) if word_of(n, other) == word_of(n, k)]
    shifts = {other: layout.locate(n, other).shift for other in ks}
    drawn = {
        int(text.get_text().removeprefix("k=")): 31 - int(text.get_position()[0])
        for text in bits.texts
    }
    assert drawn == shifts
    colors = {
        32 - int(patch.get_x()) - 2: patch.get_facecolor()
        for patch in bits.patches
        if patch.get_width() == 2
    }
    for place, other in enumerate(ks):
        same = [k for k in ks if colors[shifts[k]] == colors[shifts[other]]]
        assert same == ks[place // 4 * 4 : place // 4 * 4 + 4]
    (frame,) = (patch for patch in tile.patches if patch.get_zorder() == 3)
    assert (frame.get_x(), frame.get_y(), frame.get_width()) == (ks[0], n, 16)
    lines = capsys.readouterr().out.splitlines()[-4:]
    for line, low in zip(lines, (24, 16, 8, 0), strict=True):
        assert line.startswith(f"bits {low + 7}-{low}: k = ")
        listed = [int(number) for number in line.partition("= ")[2].split(", ")]
        assert [shifts[other] for other in listed] == [low + 6, low + 4, low + 2, low]


def test_the_text_of_the_first_word(capsys):
    bitnet_2bit()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "a tile of 16 outputs x 32 k: 32 words, 128 bytes",
        "lane 0, words 0 to 3: n = 0 to 3, k = 0 to 15",
    ]
    assert lines[8:11] == [
        "lane 7, words 28 to 31: n = 12 to 15, k = 16 to 31",
        "word 0, n = 0, from bit 31 down:",
        "bits 31-24: k = 15, 11, 7, 3",
    ]


def test_the_lanes_are_those_of_the_gemv(capsys):
    """A lane's 16 bytes of W, as the kernel loads them, hold what the text says."""
    bitnet_2bit()
    text = capsys.readouterr().out
    report = load("gemv_a8w2_dp4a").inspect(
        torch.ones(1, 128).to(torch.int8), torch.zeros(16, 8, dtype=torch.int32)
    )
    (line,) = report.of("W")
    for lane in range(8):
        first = line.first.bytes_of[lane] // 4
        words = torch.zeros(32, dtype=torch.int32)
        words[first : first + line.bytes_per_lane // 4] = -1
        n, k = unpack_bitnet_2bit(words.reshape(16, 2), 16, 32).nonzero().T
        place = f"n = {n.min()} to {n.max()}, k = {k.min()} to {k.max()}"
        assert f"lane {lane}, words {first} to {first + 3}: {place}\n" in text
        assert len(n) == (n.max() - n.min() + 1) * (k.max() - k.min() + 1)


def test_one_shift_and_one_mask_bring_out_one_colour():
    codes = torch.arange(32).remainder(4).byte().expand(16, 32).contiguous()
    word = int(pack_bitnet_2bit(codes)[0, 0]) & 0xFFFFFFFF
    assert [word >> 2 * i & 0x03030303 for i in range(4)] == [0x03020100] * 4


def test_it_shows_one_picture(shown):
    bitnet_2bit(9, 20)
    (picture,) = shown
    words = "The words of a tile of 16 x 32 codes by lane"
    assert picture.alt == f"{words}, and the 16 fields of word 25"


@pytest.mark.parametrize("n, k", [(16, 0), (-1, 0), (0, 32), (0, -1)])
def test_a_code_outside_the_tile_is_refused(n, k, shown, capsys):
    with pytest.raises(ValueError, match=rf"^a tile is n = 0 to 15 and .*, got \({n}, {k}\)$"):
        bitnet_2bit(n, k)
    assert not shown and not capsys.readouterr().out
