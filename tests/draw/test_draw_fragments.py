"""The picture of fragments: which lane holds what, as an H200 showed it."""

import sys

import pytest

from gemlite_edu.packing import FRAGMENTS
from gemlite_lab.draw.fragments import fragments, owners

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.fragments"]


@pytest.fixture
def figures(monkeypatch):
    """The figures that are shown, before they become pictures."""
    found = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: found.append(figure))
    return found


def of_operand(rows):
    """x or W of `rows` rows of 16 k: 4 neighbours at a time, every 8 rows again."""
    return {
        (lane, 4 * part + i): (lane // 4 + 8 * part, lane % 4 * 4 + i)
        for lane in range(32)
        for part in range(rows // 8)
        for i in range(4)
    }


def of_sums(shape):
    M, N = FRAGMENTS[shape]
    found = {}
    for lane in range(32):
        for i in range(M * N // 32):
            pair, which = divmod(i, 2)
            if M == 8:  # the transpose of 32x8x16
                found[lane, i] = lane % 4 * 2 + which, lane // 4 + 8 * pair
            else:
                down, right = pair % (M // 8), pair // (M // 8)
                found[lane, i] = lane // 4 + 8 * down, 8 * right + lane % 4 * 2 + which
    return found


@pytest.mark.parametrize("shape", FRAGMENTS)
def test_the_owners_are_those_of_an_h200(shape):
    M, N = FRAGMENTS[shape]
    assert owners(shape) == {"x": of_operand(M), "W": of_operand(N), "y": of_sums(shape)}


@pytest.mark.parametrize("shape", FRAGMENTS)
def test_each_element_is_drawn_once_with_its_lane(shape, figures):
    fragments(shape)
    for axes, (name, cells) in zip(figures[0].axes, owners(shape).items(), strict=True):
        assert axes.get_title() == name
        lanes, order = {}, {}
        for patch, text in zip(axes.patches, axes.texts, strict=True):
            x, y = map(round, patch.get_xy())
            width, height = round(patch.get_width()), round(patch.get_height())
            assert text.get_position() == (x + width / 2, y + height / 2)
            box = {(y + i, x + j) for i in range(height) for j in range(width)}
            assert not box & lanes.keys()
            lanes |= dict.fromkeys(box, int(text.get_text()))
            order |= dict.fromkeys(box, (len(box), patch.get_facecolor()))
        assert lanes == {cell: lane for (lane, _), cell in cells.items()}
        for lane in range(32):
            of_lane = [order[cells[lane, i]] for i in range(len(cells) // 32)]
            size = of_lane[0][0]
            parts = [set(of_lane[i : i + size]) for i in range(0, len(of_lane), size)]
            assert all(len(part) == 1 for part in parts)
            assert len(set.union(*parts)) == len(parts), "neighbours in turn have other colours"


@pytest.mark.parametrize("shape", FRAGMENTS)
def test_the_text_says_the_same(shape, capsys):
    fragments(shape)
    lines = capsys.readouterr().out.splitlines()
    M, N = FRAGMENTS[shape]
    assert lines[0] == f"{shape}: a lane holds {M // 2} of x, {N // 2} of W, {M * N // 32} of y"
    repeats = {
        line[0]: [int(word) for word in line.split() if word.isdigit()] for line in lines[1:4]
    }
    head, *rows = lines[4:]
    titles = head.removeprefix("row").replace("k=", "").replace("n=", "").split()
    place = {row.split()[0]: row.split()[1:] for row in rows}
    at, name, columns = 0, "", []
    for title in titles:
        if title in "xWy":
            name = title
            continue
        columns.append((name, *map(int, title.split("-"))))
        at += 1
    found = {
        (name, int(row), column): int(lane)
        for row, lanes in place.items()
        for (name, *ends), lane in zip(columns, lanes, strict=True)
        for column in range(ends[0], ends[-1] + 1)
    }
    for name, cells in owners(shape).items():
        rows, columns = repeats[name]
        for (lane, _), (row, column) in cells.items():
            assert found[name, row % rows, column % columns] == lane


def test_it_shows_one_picture(shown):
    fragments("32x8x16")
    (picture,) = shown
    start = "Fragments of 32x8x16, lane 5 framed: "
    assert picture.alt == f"{start}a lane holds 16 of x, 4 of W, 8 of y"


@pytest.mark.parametrize("shape", ["16x8x16", (16, 16), None])
def test_another_shape_is_refused(shape, shown):
    with pytest.raises(ValueError, match="^shape must be 8x32x16, 16x16x16, 32x8x16, got"):
        fragments(shape)
    assert not shown


@pytest.mark.parametrize("lane", [0, 31])
def test_what_one_lane_holds_is_framed(lane, figures):
    fragments("8x32x16", lane)
    for axes, cells in zip(figures[0].axes, owners("8x32x16").values(), strict=True):
        boxes = zip(axes.patches, axes.texts, strict=True)
        framed = {int(text.get_text()) for patch, text in boxes if is_framed(patch)}
        assert framed == {lane}
        count = sum(is_framed(p) * round(p.get_width() * p.get_height()) for p in axes.patches)
        assert count == len(cells) // 32


def is_framed(patch):
    return patch.get_linewidth() == 2.5


@pytest.mark.parametrize("lane", [-1, 32, None])
def test_a_lane_outside_the_warp_is_refused(lane):
    with pytest.raises(ValueError, match="lane must be 0 to 31"):
        fragments("8x32x16", lane)
