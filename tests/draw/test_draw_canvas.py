"""What all pictures share: colours that both pages show, and a PNG without a background."""

import io
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from gemlite_lab.draw import canvas

PAGES = "#FFFFFF", "#111111"  # JupyterLab's, light and dark
FILLS = {
    name: getattr(canvas, name)
    for name in "LANE GLOBAL GLOBAL_STORE SHARED SHARED_STORE COPY SUM WAITING OTHERS".split()
} | {f"NEIGHBOURS[{i}]": color for i, color in enumerate(canvas.NEIGHBOURS)}
BESIDE_EACH_OTHER = (
    ("LANE", "GLOBAL", "GLOBAL_STORE", "SHARED", "SHARED_STORE", "COPY", "SUM", "WAITING"),
    ("LANE", "OTHERS", "SUM", "WAITING"),
    (*(name for name in FILLS if "NEIGHBOURS" in name), "OTHERS", "SUM"),
)
LINES = {"INK": canvas.INK, "ASKED": canvas.ASKED, "MARK": canvas.MARK} | {
    f"SERIES[{i}]": color for i, color in enumerate(canvas.SERIES)
}
# Seen without green cones, and without red ones: Machado, Oliveira and Fernandes, 2009.
DEUTERANOPIA = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
PROTANOPIA = [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]


def linear(color):
    parts = np.array(to_rgb(color))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """WCAG's: from 1 to 21."""
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(light):
    """CIELAB of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ np.clip(light, 0, 1) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("name", LINES)
def test_lines_and_writing_have_contrast_on_both_pages(name):
    least = 4.2 if name == "INK" else 3
    assert min(contrast(LINES[name], page) for page in PAGES) >= least


@pytest.mark.parametrize("name", FILLS)
def test_fills_carry_black_writing(name):
    assert canvas.on(FILLS[name]) == "#000000"
    assert contrast(FILLS[name], "#000000") >= 7


@pytest.mark.parametrize("sight", [np.eye(3), DEUTERANOPIA, PROTANOPIA])
@pytest.mark.parametrize("names", BESIDE_EACH_OTHER)
def test_fills_that_stand_beside_each_other_differ_for_every_eye(names, sight):
    seen = {name: lab(np.array(sight) @ linear(FILLS[name])) for name in names}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 12, (one, other)


@pytest.fixture
def pixels(shown):
    """The RGBA of a picture with a box and writing on the page, and what was shown."""
    figure, axes = canvas.canvas(2, 1)
    canvas.box(axes, 0.25, 0, 0.5, canvas.LANE, "in")
    canvas.write(axes, 0, 0.5, "on")
    canvas.display_png(figure, "a box")
    return np.asarray(Image.open(io.BytesIO(shown[0].data)).convert("RGBA"))


def test_the_page_shows_through_between_the_boxes(pixels):
    corner, middle = pixels[0, 0], pixels[80, 220]
    assert corner[3] == 0
    assert [*middle] == [0xA6, 0xD4, 0xF2, 255]


def test_writing_on_the_page_has_ink_with_soft_edges(pixels):
    writing = pixels[40:120, :70]
    is_ink = (writing[..., :3] == 0x78).all(axis=-1)
    assert {*writing[is_ink][:, 3].tolist()} == {0, 51, 140, 255}


def test_a_picture_has_more_pixels_than_its_place(pixels, shown):
    assert pixels.shape[1] == 2 * 160 and shown[0].width == 2 * 96


def test_a_small_patch_keeps_its_colour_beside_much_writing(shown):
    figure, axes = canvas.canvas(4, 2)
    for i, color in enumerate(canvas.NEIGHBOURS * 2):
        axes.add_patch(canvas.rectangle(0, i / 8, 1, 1 / 8, color))
        axes.text(0, i / 8, "many grey edges 0123456789", fontsize=14)
    axes.plot(0.9, 0.9, "o", color=canvas.MARK, markersize=3)
    canvas.display_png(figure, "a point")
    picture = np.asarray(Image.open(io.BytesIO(shown[0].data)).convert("RGBA"))
    assert (picture == (0xD5, 0x5E, 0x00, 255)).all(axis=-1).any()
