"""A picture of the warps of a block that read x: each from global memory, or all from a copy."""

from gemlite_lab.draw.canvas import (
    ASKED,
    GLOBAL,
    INK,
    LANE,
    SHARED,
    canvas,
    display_png,
    on,
    rectangle,
    write,
)

_WARPS = ("warp 0", "warp 1", "warp 2", "...", "warp 31")
_STEP, _WIDTH = 11, 10  # of the warps
_PANEL = len(_WARPS) * _STEP + 4


def staging():
    """How x reaches the 32 warps of a block without and with a copy in shared memory."""
    print("not staged: each of the 32 warps of a block loads x from global memory")
    print("staged: the block loads x once and stores it; its 32 warps load it from shared memory")
    figure, axes = canvas(10, 2.9)
    for number, title in enumerate(("not staged", "staged")):
        left = number * (_PANEL + 4)
        _draw_block(axes, left, title)
        if number:
            _draw_copy(axes, left)
        else:
            for x in _middles(left):
                _arrow(axes, (x, 20), (x, 10.5))
    axes.set(xlim=(-0.5, 2 * _PANEL + 4.5), ylim=(26.5, -0.5))
    axes.axis("off")
    display_png(
        figure,
        "Left: 32 arrows lead from x in global memory to the 32 warps of a block. Right: one arrow "
        "leads from x to the block's shared memory, and from there one to each warp",
    )


def _middles(left):
    return [left + 2.5 + at * _STEP + _WIDTH / 2 for at, name in enumerate(_WARPS) if name != "..."]


def _draw_block(axes, left, title):
    axes.add_patch(rectangle(left, 0, _PANEL, 18, "none", INK))
    write(axes, left + 1.5, 2.2, f"a block, {title}", fontsize=10, weight="bold")
    for at, name in enumerate(_WARPS):
        x = left + 2.5 + at * _STEP
        color = "none" if name == "..." else LANE
        axes.add_patch(rectangle(x, 4.5, _WIDTH, 6, color, "none"))
        write(axes, x + _WIDTH / 2, 7.5, name, ha="center", fontsize=9, color=on(color))
    _draw_memory(axes, left, 20, GLOBAL, "global memory: x")


def _draw_copy(axes, left):
    _draw_memory(axes, left, 13.4, SHARED, "shared memory: x_shared", 3.4)
    for x in _middles(left):
        _arrow(axes, (x, 13.4), (x, 10.5))
    _arrow(axes, (left + _PANEL / 2, 20), (left + _PANEL / 2, 16.8))


def _draw_memory(axes, left, top, color, name, height=6):
    axes.add_patch(rectangle(left + 2.5, top, _PANEL - 5, height, color))
    axes.text(left + _PANEL / 2, top + height / 2, name, ha="center", va="center", fontsize=9)


def _arrow(axes, start, end):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": ASKED})
