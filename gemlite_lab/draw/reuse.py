"""A picture of how often words of W are loaded for several rows of x: in a GEMV and in a GEMM."""

from gemlite_lab.draw.canvas import (
    ASKED,
    GLOBAL,
    INK,
    LANE,
    NEIGHBOURS,
    SUM,
    canvas,
    counted,
    display_png,
    rectangle,
    write,
)

_MOST_ROWS = 4
_WIDE, _GAP = 10, 1.2  # a row of x, and the space to the next one
_TITLES = "GEMV", "GEMM"


def reuse(rows):
    """The programs that multiply one block of W by `rows` rows of x, at most 4.

    In a GEMV each row has a program of its own; in a GEMM one program has all of them.
    Raises ValueError for another number of rows.
    """
    if not 1 <= rows <= _MOST_ROWS:
        raise ValueError(f"the picture has room for 1 to {_MOST_ROWS} rows, got {rows}")
    for title, programs in zip(_TITLES, (rows, 1), strict=True):
        of_each = counted(rows // programs, "row")
        print(
            f"{title}: {counted(programs, 'program')} with {of_each} of x each; the block of W is "
            f"loaded and unpacked {counted(programs, 'time')}"
        )
    _draw(rows)


def _draw(rows):
    figure, axes = canvas(10, 3)
    panel = rows * (_WIDE + _GAP) - _GAP
    for number, (title, programs) in enumerate(zip(_TITLES, (rows, 1), strict=True)):
        left = number * (panel + 4)
        write(axes, left, -0.7, title, weight="bold")
        _fill(axes, left, 0, panel, 1.1, GLOBAL, "words of a block of W")
        each = rows // programs
        for program in range(programs):
            x = left + program * (_WIDE + _GAP)
            wide = each * (_WIDE + _GAP) - _GAP
            arrow = {"arrowstyle": "->", "color": ASKED, "linewidth": 1.5}
            axes.annotate("", (x + wide / 2, 1.9), (x + wide / 2, 1.1), arrowprops=arrow)
            axes.add_patch(rectangle(x, 1.9, wide, 5.2, "none", INK))
            write(axes, x + wide / 2, 2.4, f"program {program}", ha="center", fontsize=9)
            _fill(axes, x + 0.5, 2.9, wide - 1, 1.1, LANE, "unpacked")
            for row in range(program * each, (program + 1) * each):
                _draw_row(axes, left + row * (_WIDE + _GAP), row)
    axes.set(xlim=(-0.2, 2 * panel + 4.2), ylim=(7.3, -1.2))
    axes.axis("off")
    display_png(
        figure,
        f"GEMV: {rows} programs unpack the same block of W, each for its row of x. GEMM: one "
        f"program unpacks it once for {rows} rows",
    )


def _draw_row(axes, left, row):
    _fill(axes, left + 0.5, 4.3, _WIDE - 1, 1.1, NEIGHBOURS[row], f"times row {row} of x")
    _fill(axes, left + 0.5, 5.7, _WIDE - 1, 1.1, SUM, f"sums of row {row}")


def _fill(axes, left, top, width, height, color, text):
    axes.add_patch(rectangle(left, top, width, height, color))
    write(axes, left + width / 2, top + height / 2, text, ha="center", fontsize=8, color="black")
