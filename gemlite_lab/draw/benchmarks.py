"""Curves of measurements: the roofline, and the time over the batch."""

from itertools import groupby
from math import atan2, ceil, degrees

from gemlite_lab.bench import roofline as model
from gemlite_lab.draw import measured
from gemlite_lab.draw.canvas import GRID, IDLE, INK, canvas, counted, display_png, legend, write

_LEGEND_COLUMNS = 115  # characters, in all
_FASTEST = "the fastest"


@measured.readable
def roofline(rows, title=None):
    """TFLOP/s over operations per byte, below the roofs that memory and arithmetic set.

    rows: a list of `Measurement` of one device; for each kernel and problem the newest is drawn,
    and a line over M for each N x K of a kernel. The roofs are the highest `read_gb_per_s` and
    `matmul_tflops` of the rows. Raises ValueError if no row has a time, for several devices, or for
    more than 42 kernels.
    """
    rows = measured.newest(rows)
    style = measured.looks(rows)
    title = title or f"{rows[0].device}: roofline"
    roofs = max(row.read_gb_per_s for row in rows), max(row.matmul_tflops for row in rows)
    points = {id(row): _point(row) for row in rows}
    print(f"roofs: {roofs[0]:,.0f} GB/s of reads, {roofs[1]:,.0f} TFLOP/s of fp16 products")
    _print_points(rows, points, roofs)

    figure, axes = _canvas_with_legend(style)
    _draw_roofs(axes, [x for x, _ in points.values()], roofs)
    lines = measured.in_lines(rows, lambda row: (measured.label(row), row.N, row.K))
    for (name, *_), line in lines.items():
        line = sorted(line, key=lambda row: row.M)
        axes.plot(*zip(*(points[id(row)] for row in line), strict=True), **style[name])
    axes.set(xscale="log", yscale="log", title=title)
    axes.set(xlabel="operations per byte moved", ylabel="TFLOP/s")
    measured.plain_numbers(axes.xaxis, (1,))
    measured.plain_numbers(axes.yaxis, (1,))
    axes.grid(color=GRID)
    roof = f"roofs of {roofs[0]:,.0f} GB/s and {roofs[1]:,.0f} TFLOP/s"
    display_png(figure, f"{title}: {counted(len(rows), 'point')} under {roof}")


@measured.readable
def time_against_M(rows, kernels=None):
    """The median time over M of each kernel, for one N x K, with the band from p20 to p80.

    rows: a list of `Measurement` of one device; each line is a kernel with its weights, and for
    each kernel and problem the newest is drawn. A grey line runs below the fastest; the text names
    the fastest at each M at which at least two lines were measured.
    kernels: names of the kernels to draw, or None for all; kernels without a time are listed.
    Raises ValueError if no row has a time, for several devices or N x K, or for more than 42 lines.
    """
    rows = measured.newest(rows if kernels is None else _of_kernels(rows, kernels))
    shapes = sorted({measured.shape(row) for row in rows})
    if len(shapes) > 1:
        raise ValueError(f"the rows are of the N x K {', '.join(shapes)}: draw those of one")
    style = measured.looks(rows)
    title = f"{rows[0].device}: time of N x K = {shapes[0]} over the batch M"
    print("median µs of a call")
    _print_times(rows)
    spread = max(rows, key=_spread)
    where = f"{measured.label(spread)} at M = {spread.M}"
    print(f"p20 to p80 spans {_spread(spread):.1%} of p50 at most: {where}")
    sentences = _fastest(rows)
    print("\n".join(sentences))

    if _winners(rows):
        style[_FASTEST] = {"color": IDLE, "linewidth": 12}
    figure, axes = _canvas_with_legend(style)
    _draw_times(axes, rows, style)
    axes.set(xlabel="M", ylabel="µs of a call", title=title)
    display_png(figure, f"{title}. {'. '.join(sentences)}.")


def _of_kernels(rows, kernels):
    """The rows of `kernels`; prints the kernels for which the rows have no time."""
    rows = [row for row in rows if row.kernel in kernels]
    timed = {row.kernel for row in rows if row.p50_us}
    absent = [name for name in kernels if name not in timed]
    if absent:
        print(f"not recorded: {', '.join(absent)}")
    return rows


def _point(row):
    operations = 2 * row.M * row.N * row.K
    return model.intensity(row.M, row.N, row.K, row.bytes), operations / (row.p50_us * 1e6)


def _print_points(rows, points, roofs):
    head = ["kernel", "N x K", "M", "operations/byte", "TFLOP/s", "of the roof"]
    lines = []
    for row in rows:
        x, y = points[id(row)]
        part = y / model.attainable_tflops(x, *roofs)
        lines.append(
            [measured.label(row), measured.shape(row), row.M, _short(x), _short(y), f"{part:.0%}"]
        )
    measured.print_table(head, lines)


def _short(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _draw_roofs(axes, intensities, roofs):
    """Draw the two roofs, with room beyond the points and beyond the ridge where they meet."""
    read, matmul = roofs
    ridge = matmul * 1e3 / read
    left, right = min(*intensities, ridge) / 2, max(*intensities, ridge * 8) * 2
    heights = [model.attainable_tflops(x, *roofs) for x in (left, ridge, right)]
    axes.plot([left, ridge, right], heights, color=INK, linewidth=2)
    above = {"ha": "center", "va": "bottom", "rotation_mode": "anchor"}
    middle = (left * ridge) ** 0.5
    height = 1.3 * model.attainable_tflops(middle, *roofs)
    slope = {"rotation": degrees(atan2(height, middle)), "transform_rotates_text": True}
    write(axes, middle, height, f"memory: {read:,.0f} GB/s", **above, **slope)
    text = f"arithmetic: {matmul:,.0f} TFLOP/s"
    write(axes, (ridge * right) ** 0.5, 1.3 * matmul, text, **above)
    axes.set(xlim=(left, right))
    axes.margins(y=0.15)


def _print_times(rows):
    batches = _batches(rows)
    lines = []
    for name, line in measured.in_lines(rows).items():
        times = {row.M: measured.microseconds(row.p50_us) for row in line}
        lines.append([name, *(times.get(M, "") for M in batches)])
    measured.print_table(["kernel", *(f"M = {M}" for M in batches)], lines)


def _batches(rows):
    return sorted({row.M for row in rows})


def _spread(row):
    return (row.p80_us - row.p20_us) / row.p50_us


def _winners(rows):
    """The fastest row at each M at which at least two lines were measured, in the order of M."""
    of_batch = measured.in_lines(rows, lambda row: row.M)
    compared = [M for M in _batches(rows) if len(of_batch[M]) > 1]
    return [min(of_batch[M], key=lambda row: row.p50_us) for M in compared]


def _fastest(rows):
    """A sentence for each stretch of M on which one line is the fastest, and for the other M."""
    winners = _winners(rows)
    sentences = []
    for name, stretch in groupby(winners, key=measured.label):
        compared = [row.M for row in stretch]
        where = f"at M = {compared[0]}"
        if len(compared) > 1:
            where = f"from M = {compared[0]} to {compared[-1]}"
        sentences.append(f"{name} is the fastest {where}")
    alone = sorted(set(_batches(rows)) - {row.M for row in winners})
    if alone:
        sentences.append(f"only one line was measured at M = {', '.join(map(str, alone))}")
    return sentences


def _draw_times(axes, rows, style):
    batches = _batches(rows)
    winners = _winners(rows)
    if winners:
        times = [row.p50_us for row in winners]
        (grey,) = axes.plot([row.M for row in winners], times, **style[_FASTEST])
        grey.set(solid_capstyle="round", solid_joinstyle="round", zorder=0)
    for name, line in measured.in_lines(rows).items():
        line = sorted(line, key=lambda row: row.M)
        M = [row.M for row in line]
        axes.plot(M, [row.p50_us for row in line], **style[name])
        low, high = [row.p20_us for row in line], [row.p80_us for row in line]
        axes.fill_between(M, low, high, color=style[name]["color"], alpha=0.25, linewidth=0)
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(batches, batches)
    axes.set_xticks([], minor=True)
    fastest, slowest = min(row.p20_us for row in rows), max(row.p80_us for row in rows)
    axes.set(ylim=(fastest / 2, slowest * 2))
    measured.plain_numbers(axes.yaxis, (1, 2, 5))
    axes.grid(axis="y", color=GRID)


def _canvas_with_legend(style):
    from matplotlib.lines import Line2D

    ncols = max(1, _LEGEND_COLUMNS // (max(map(len, style)) + 8))
    figure, axes = canvas(10, 4.8 + 0.23 * ceil(len(style) / ncols))
    handles = [Line2D([], [], label=name, **look) for name, look in style.items()]
    legend(figure, handles, min(ncols, len(handles)))
    return figure, axes
