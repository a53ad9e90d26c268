"""A picture of lanes that add up their values by shuffles, with half as many sums in each step."""

from gemlite_lab.draw.canvas import ASKED, IDLE, INK, LANE, box, canvas, display_png

_ROW = 2.2


def shuffle_tree(values):
    """How lane 0 comes to the sum of `values`, one for each lane: 2, 4, 8 or 16 of them.

    In each step a lane adds the value of the lane `offset` further up, if there is one.
    Raises ValueError for another number of values.
    """
    values = list(values)
    if len(values) not in (2, 4, 8, 16):
        raise ValueError(f"the picture shows 2, 4, 8 or 16 lanes, got {len(values)} values")
    rows, offset = [("start", values)], len(values) // 2
    while offset:
        values = [a + b for a, b in zip(values, values[offset:], strict=False)][:offset]
        rows.append((f"offset {offset}", values))
        offset //= 2
    for name, held in rows:
        print(f"{name:9}: {', '.join(f'lane {lane} {value}' for lane, value in enumerate(held))}")
    _draw(rows)


def _draw(rows):
    lanes = len(rows[0][1])
    figure, axes = canvas(10, 0.5 + 0.45 * len(rows))
    for number, (_, held) in enumerate(rows):
        for lane in range(lanes):
            counts = lane < len(held)
            label = held[lane] if counts else ""
            box(axes, lane, number * _ROW, 0.9, LANE if counts else IDLE, label, fontsize=10)
        for lane in range(len(held) if number else 0):
            for source, color in ((lane, INK), (lane + len(held), ASKED)):
                start, end = (source + 0.45, (number - 1) * _ROW + 1), (lane + 0.45, number * _ROW)
                axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color})
    axes.set(xlim=(0, lanes), ylim=((len(rows) - 1) * _ROW + 1.1, -0.1))
    axes.xaxis.tick_top()
    axes.set_xticks([lane + 0.45 for lane in range(lanes)], [f"lane {i}" for i in range(lanes)])
    axes.set_yticks([n * _ROW + 0.5 for n in range(len(rows))], [name for name, _ in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    display_png(
        figure, f"{lanes} lanes add up their values in {len(rows) - 1} steps; lane 0 has the sum"
    )
