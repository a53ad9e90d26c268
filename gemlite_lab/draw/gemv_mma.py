"""A picture of one tensor-core instruction of gemv_a16wn_fast: 16 rows of W times one row of x."""

from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, SUM, beside, display_png, frame, rectangle

_ROWS, _DEPTH, _COLUMNS = 16, 16, 8
_LANES_OF_A_ROW, _NEIGHBOURS = 4, 4
_FONT_SIZE = 8


def k_order():
    """The k, from 0 to 15, of each of the instruction's 16 places along k.

    Lane 4 g + t holds places 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of rows g and g + 8. The kernel puts
    the lane's four neighbours 4 t to 4 t + 3 there, and those of x likewise.
    """
    order = [0] * _DEPTH
    for t in range(_LANES_OF_A_ROW):
        for neighbour in range(_NEIGHBOURS):
            order[2 * t + neighbour % 2 + neighbour // 2 * 8] = _NEIGHBOURS * t + neighbour
    return order


def lane_of(row, place):
    """The lane that holds this place of W's 16 x 16."""
    return row % 8 * _LANES_OF_A_ROW + place % 8 // 2


def gemv_mma(lane=5):
    """What one instruction multiplies: 16 rows of W, one row of x, and the k at each place.

    lane: whose part of W is framed. Raises ValueError for a lane that does not exist.
    """
    if lane not in range(32):
        raise ValueError(f"lane must be from 0 to 31, got {lane}")
    order = k_order()
    print("places along k hold k =", ", ".join(map(str, order)))
    held = [(row, p) for row in range(_ROWS) for p in range(_DEPTH) if lane_of(row, p) == lane]
    rows = sorted({row for row, _ in held})
    ks = sorted({order[place] for _, place in held})
    print(
        f"lane {lane} holds {len(held)} of W: rows {rows[0]} and {rows[1]} at k = {ks[0]}-{ks[-1]}"
    )
    _draw(order, held, lane)


def _draw(order, held, lane):
    figure = beside(10, 4.6, [_DEPTH, _COLUMNS, _COLUMNS])
    w, x, y = figure.axes
    for row in range(_ROWS):
        for place in range(0, _DEPTH, 2):
            color = NEIGHBOURS[place % 8 // 2]
            w.add_patch(rectangle(place, row, 2, 1, color))
            _write(w, place + 1, row + 0.5, lane_of(row, place))
    for row, place in held:
        if place % 2 == 0:
            frame(w, place, row, 2, 1)
    for axes in (x, y):
        for row in range(_ROWS):
            color = NEIGHBOURS[row % 8 // 2] if axes is x else SUM
            for column in range(_COLUMNS):
                axes.add_patch(rectangle(column, row, 1, 1, color if column == 0 else IDLE))
    w.set(title="16 rows of W: the lane that holds each pair", xlabel="k", ylabel="n")
    x.set(title="x, and 7 copies", ylabel="k")
    y.set(title="sums, and 7 copies", ylabel="n")
    for axes, size in ((w, _DEPTH), (x, _COLUMNS), (y, _COLUMNS)):
        axes.set(xlim=(0, size), ylim=(_ROWS, 0), aspect="equal", anchor="N")
        axes.tick_params(length=0, labelsize=_FONT_SIZE)
        axes.set_yticks([row + 0.5 for row in range(_ROWS)], range(_ROWS))
        axes.set_xticks([])
    w.set_xticks([place + 0.5 for place in range(_DEPTH)], order)
    x.set_yticks([place + 0.5 for place in range(_DEPTH)], order)
    display_png(figure, f"One instruction: 16 x 16 of W times x; lane {lane} holds eight of W")


def _write(axes, x, y, text):
    axes.text(x, y, text, ha="center", va="center", fontsize=_FONT_SIZE)
