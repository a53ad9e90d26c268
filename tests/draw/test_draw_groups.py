"""Pictures of groups and of bit planes: what they print is what the address maps say."""

import re
import sys

import pytest

from gemlite_edu.packing import BitPlanes3, WarpInterleaved
from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.groups"]  # draw.groups is the function
LAYOUTS = [*map(WarpInterleaved, range(1, 9)), BitPlanes3()]


def printed_groups(text):
    """{(code, lane): group} of what `draw.groups` printed."""
    found = {}
    for line in text.splitlines()[1:]:
        code = int(re.match(r"code +(\d+)", line)[1])
        runs = re.findall(r"group (\d+)(?: in lanes (\d+)-(\d+))?", line)
        for group, first, last in runs:
            for lane in range(int(first or 0), int(last or 31) + 1):
                found[code, lane] = int(group)
    return found


@pytest.mark.parametrize("group_size", [7, 16, 32, 48, 64, 128, 1000])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_code_is_in_the_group_of_its_k(layout, group_size, capsys, monkeypatch):
    monkeypatch.setattr(drawing, "_draw", lambda *_: None)
    draw.groups(layout, group_size, tile=2)
    out = capsys.readouterr().out
    first = 2 * layout.tile
    expected = {(k // 32, k % 32): (first + k) // group_size for k in range(layout.tile)}
    assert printed_groups(out) == expected
    last = (first + layout.tile - 1) // group_size
    assert f"tile 2: groups {first // group_size} to {last}, " in out


@pytest.mark.parametrize("group_size", [8, 48, 512])
def test_groups_shows_one_picture(group_size, shown):
    draw.groups(WarpInterleaved(4), group_size)
    assert len(shown) == 1


@pytest.mark.parametrize("nbits", range(1, 9))
def test_code_j_of_a_lane_is_where_the_address_map_says(nbits):
    """What `draw.groups` takes for granted: field j of a lane's word holds k = 32 j + lane."""
    layout = WarpInterleaved(nbits)
    for k in range(layout.tile):
        address = layout.locate(0, k)
        assert (address.col, address.shift) == (k % 32, 32 - nbits * (k // 32 + 1))


@pytest.mark.parametrize("group_size, codes", [(32, 1), (48, 1), (64, 2), (96, 1), (128, 4)])
def test_it_prints_the_constant_of_the_kernel(group_size, codes, capsys):
    draw.groups(WarpInterleaved(4), group_size)
    assert capsys.readouterr().out.splitlines()[0].endswith(f"CODES_PER_GROUP = {codes}")


def test_lanes_in_different_groups_are_told_apart(capsys):
    draw.groups(WarpInterleaved(8), 24)
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "code  0, k =      0-31: group 0 in lanes 0-23, group 1 in lanes 24-31",
        "code  1, k =     32-63: group 1 in lanes 0-15, group 2 in lanes 16-31",
    ]


@pytest.mark.parametrize("arguments", [(0,), (-32,), (32, -1)])
def test_groups_that_cannot_be_are_refused(arguments, shown):
    with pytest.raises(ValueError, match="^group_size must be at least 1 and tile at least 0, got"):
        draw.groups(WarpInterleaved(4), *arguments)
    assert not shown


def test_planes_lists_three_words_and_both_pieces_of_a_code(shown, capsys):
    draw.planes(lane=5, code=17)
    assert capsys.readouterr().out.splitlines() == [
        "lane 5, 3-bit planes: 3 words, 32 codes, 0 idle bits",
        "word  5: low 2 bits of k = 5, 37, 69, ..., 485",
        "word 37: low 2 bits of k = 517, 549, 581, ..., 997",
        "word 69: high bit of k = 5, 37, 69, ..., 997",
        "code 17, k = 549: low 2 bits in word 37, bits 29-28; high bit in word 69, bit 14",
    ]
    assert shown[0].alt == "Three words of 32 bits; k = 549 has two bits in one, one in another"


@pytest.mark.parametrize("lane", [0, 31])
@pytest.mark.parametrize("code", [0, 15, 16, 31])
def test_planes_says_what_the_address_map_says(lane, code, capsys):
    draw.planes(lane, code)
    k = lane + 32 * code
    low, high = BitPlanes3().locate(0, k)
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"code {code}, k = {k}: low 2 bits in word {low.col}, bits {low.shift + 1}-{low.shift}; "
        f"high bit in word {high.col}, bit {high.shift}"
    )


@pytest.mark.parametrize("lane, code", [(-1, 0), (32, 0), (0, -1), (0, 32)])
def test_planes_that_are_not_there_are_refused(lane, code, shown):
    with pytest.raises(ValueError, match="^lane and code must be from 0 to 31, got"):
        draw.planes(lane, code)
    assert not shown
