"""The picture of a tile of planes: what it prints is what the address map says."""

import re
import sys

import pytest

from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.plane_tiles"]  # draw.plane_tiles is the function
LAYOUTS = [
    PlaneTiles(4, 384, 128),
    PlaneTiles(4, 384, 128, word_bits=16),
    PlaneTiles(8, 96, None),
    PlaneTiles(2, 200, 40, word_bits=8),
    PlaneTiles(3, 300, 100),
    PlaneTiles(1, 512, 256, word_bits=16),
]


def printed(text, tile):
    """{(tile, word, first bit): (k, group)} of what `draw.plane_tiles` printed."""
    found = {}
    pattern = r"plane +\d+, bits +\d+-(\d+): k = +(\d+)-(\d+), group (\d+)"
    for shift, first, last, group in re.findall(pattern, text):
        for word, k in enumerate(range(int(first), int(last) + 1)):
            found[tile, word, int(shift)] = k, int(group)
    return found


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_code_is_where_the_address_map_says(layout, capsys, monkeypatch):
    monkeypatch.setattr(drawing, "_draw", lambda *_: None)
    found = {}
    for tile in range(layout.padded_K // layout.tile):
        draw.plane_tiles(layout, tile)
        found |= printed(capsys.readouterr().out, tile)
    expected = {}
    for k in range(layout.K):
        address = layout.locate(0, k)
        tile, word = divmod(address.col, layout.depth)
        expected[tile, word, address.shift] = k, k // (layout.group_size or layout.K)
    assert found == expected


def test_it_shows_one_picture(shown):
    draw.plane_tiles(LAYOUTS[0])
    assert len(shown) == 1


def test_padding_is_said_to_be_padding(capsys):
    draw.plane_tiles(PlaneTiles(8, 40, 20), tile=0)
    assert capsys.readouterr().out.splitlines() == [
        "8-bit, words of 32 bits, tile 0 of 1: 4 planes of 16 codes in 16 words",
        "plane  0, bits   7-0: k =      0-15, group 0",
        "plane  1, bits  15-8: k =     16-19, group 0, and padding in 12 words",
        "plane  2, bits 23-16: k =     20-35, group 1",
        "plane  3, bits 31-24: k =     36-39, group 1, and padding in 12 words",
    ]


@pytest.mark.parametrize("tile", [-1, 3])
def test_a_tile_that_is_not_there_is_refused(tile, shown):
    with pytest.raises(ValueError, match=f"^tile must be from 0 to 2, got {tile}"):
        draw.plane_tiles(PlaneTiles(4, 384, 128), tile)
    assert not shown
