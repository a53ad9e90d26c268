"""A picture of a block of gemv_a16wn_fast: what lies where, and which function moves it."""

from collections import namedtuple

from gemlite_lab.draw.canvas import (
    ASKED,
    GLOBAL,
    INK,
    LANE,
    SHARED,
    canvas,
    display_png,
    rectangle,
    write,
)

Arrow = namedtuple("Arrow", "start end function when")

_MEMORIES = ("global memory", "shared memory", "registers of a warp")
_COLORS = GLOBAL, SHARED, LANE
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 9, 1.5, 15, 3
# {what: (its memory, its row)}
_PLACES = {
    "words, scales, zeros": (0, 0),
    "next: a step's words": (2, 0),
    "now: a step's words": (2, 1),
    "x": (0, 2),
    "x_shared": (1, 2),
    "halves of W and x": (2, 2),
    "totals of a tile": (2, 3),
    "partial: a warp's sums": (1, 3),
    "y": (0, 3),
}
ARROWS = (
    Arrow("x", "x_shared", "fetch_x", "once"),
    Arrow("words, scales, zeros", "next: a step's words", "load_step", "each turn"),
    Arrow("next: a step's words", "now: a step's words", "now = next", "each turn"),
    Arrow("now: a step's words", "halves of W and x", "dequant_pair", "each turn"),
    Arrow("x_shared", "halves of W and x", "met_x", "each turn"),
    Arrow("halves of W and x", "totals of a tile", "multiply_add", "each turn"),
    Arrow("totals of a tile", "partial: a warp's sums", "hand_in", "once a tile"),
    Arrow("partial: a warp's sums", "y", "sum += partial", "at the end"),
)


def block_anatomy():
    """The ways of W, x and the sums through a block, from global memory and back."""
    for arrow in ARROWS:
        print(f"{arrow.when:11} {arrow.function:14} {arrow.start} -> {arrow.end}")
    figure, axes = canvas(10, 4.4)
    for memory, (name, color) in enumerate(zip(_MEMORIES, _COLORS, strict=True)):
        x = memory * _ACROSS
        axes.add_patch(rectangle(x - 0.7, -1.6, _WIDTH + 1.4, 4 * _DOWN + 0.9, "none", INK))
        write(axes, x + _WIDTH / 2, -0.9, name, ha="center", weight="bold")
        for what, (own, row) in _PLACES.items():
            if own == memory:
                axes.add_patch(rectangle(x, row * _DOWN, _WIDTH, _HEIGHT, color))
                middle = x + _WIDTH / 2, row * _DOWN + _HEIGHT / 2
                axes.text(*middle, what, ha="center", va="center", fontsize=9)
    for arrow in ARROWS:
        _draw_arrow(axes, arrow)
    axes.set(xlim=(-1, 2 * _ACROSS + _WIDTH + 1), ylim=(4 * _DOWN - 0.5, -1.8))
    axes.axis("off")
    display_png(figure, f"A block: {'; '.join(map(_told, ARROWS))}")


def _told(arrow):
    return f"{arrow.function} from {arrow.start} to {arrow.end}, {arrow.when}"


def _draw_arrow(axes, arrow):
    (start, row), (end, end_row) = _PLACES[arrow.start], _PLACES[arrow.end]
    if start == end:
        x = start * _ACROSS + _WIDTH / 2
        ends = (x, row * _DOWN + _HEIGHT), (x, end_row * _DOWN)
        place = x + 0.3, (ends[0][1] + ends[1][1]) / 2
        look = {"ha": "left", "va": "center"}
    else:
        y = row * _DOWN + _HEIGHT / 2
        right = end > start
        ends = (start * _ACROSS + _WIDTH * right, y), (end * _ACROSS + _WIDTH * (not right), y)
        gap = (max(start, end) - 1) * _ACROSS + _WIDTH
        place = gap + (_ACROSS - _WIDTH) / 2, y - 0.15
        look = {"ha": "center", "va": "bottom"}
    style = {"arrowstyle": "->", "color": ASKED, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", ends[1], ends[0], arrowprops=style)
    write(axes, *place, arrow.function, fontsize=8.5, family="monospace", **look)
