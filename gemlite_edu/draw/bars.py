"""Bars of measurements: which part of the memory's speed each reached, and a ladder of kernels."""

from gemlite_edu import roofline
from gemlite_edu.draw import measured
from gemlite_edu.draw.canvas import COLORS, canvas, counted, display_png, legend

_BAR_HEIGHT = 0.3  # inches, with the space to the next


@measured.readable
def fraction_of_limit(rows):
    """Which part of the measured read bandwidth each kernel reached, as bars grouped by shape.

    rows: a list of `Measurement` of one device; of a kernel and problem the newest is drawn.
    Raises ValueError if no row has a time or devices are mixed.
    """
    rows = measured.newest(rows)
    groups = measured.in_lines(rows, lambda row: f"{measured.shape(row)}, M = {row.M}")
    read = max(row.read_gb_per_s for row in rows)
    title = f"{rows[0].device}: part of the read bandwidth, {read:,.0f} GB/s"
    lines = [
        [
            measured.label(row),
            measured.shape(row),
            row.M,
            f"{row.gb_per_s:,.0f}",
            f"{row.fraction:.0%}",
        ]
        for of_shape in groups.values()
        for row in of_shape
    ]
    measured.print_table(["kernel", "N x K", "M", "GB/s", "of the limit"], lines)

    slots = len(rows) + len(groups)
    figure, axes = canvas(10, 1.1 + _BAR_HEIGHT * slots)
    right = max([1, *(row.fraction for row in rows)])
    _draw_groups(axes, groups, measured.colors(rows), right + 0.01)
    axes.axvline(1, color="black", linewidth=2)
    axes.set(xlim=(0, right + 0.07), ylim=(slots - 0.4, -0.6), title=title)
    axes.set_xticks([part / 4 for part in range(5)], [f"{25 * part}%" for part in range(5)])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=measured.GRID)
    what = f"{counted(len(rows), 'bar')} in {counted(len(groups), 'shape')}"
    display_png(figure, f"{title}: {what}, with a line at 100%", measured.PNG_COLORS)


@measured.readable
def ladder(rows, order):
    """The median times of the kernels named in `order` on one problem, and the limit of each.

    The limit is what moving its bytes takes at the read bandwidth measured in the same run; a bar
    begins there and ends at the time. Rows of other kernels are left out; of the same kernel and
    problem the newest is drawn. The weights may differ, so that fp16 can be a rung.
    Raises ValueError if a kernel has no time, or several, or if devices or shapes are mixed.
    """
    rungs = _rungs(measured.newest(rows), order)
    title = f"{rungs[0].device}: {measured.problem(rungs[0])}"
    print(title)
    measured.print_table(
        ["kernel", "µs", "times faster", "limit µs", "of the limit"], _climb(rungs)
    )

    figure, axes = canvas(10, 1.5 + 1.5 * _BAR_HEIGHT * len(rungs))
    _draw_rungs(axes, rungs)
    legend(figure, axes.collections[-1:])
    axes.set(xlabel="µs of a call", title=title)
    ends = " to ".join(
        f"{measured.label(row)}, {measured.microseconds(row.p50_us)} µs"
        for row in (rungs[0], rungs[-1])
    )
    display_png(figure, f"{title}: a ladder of {counted(len(rungs), 'kernel')}, from {ends}")


def _draw_groups(axes, groups, color_of, right):
    """The bars, each group below its shape, with their parts as text from `right` on."""
    names = {}
    top = 0
    for title, rows in groups.items():
        axes.text(0.005, top + 0.15, title, va="center", fontweight="bold")
        for y, row in enumerate(rows, top + 1):
            names[y] = measured.label(row)
            axes.barh(y, row.fraction, 0.75, color=color_of[names[y]])
            axes.text(right, y, f"{row.fraction:.0%}", va="center")
        top += 1 + len(rows)
    axes.set_yticks(list(names), names.values())


def _draw_rungs(axes, rungs):
    """A bar from the limit of each to its time, over log µs: as long as the factor between."""
    for y, row in enumerate(rungs):
        limit_us = _limit_us(row)
        axes.barh(y, row.p50_us - limit_us, 0.7, limit_us, color=COLORS[4])
        limit = axes.vlines(limit_us, y - 0.5, y + 0.5, color="black", linewidth=3)
        text = f"  {measured.microseconds(row.p50_us)} µs, {row.fraction:.0%} of the limit"
        axes.text(max(row.p50_us, limit_us), y, text, va="center")
    limit.set_label("limit: its bytes at the read bandwidth measured")
    axes.set_yticks(range(len(rungs)), map(measured.label, rungs))
    axes.tick_params(axis="y", length=0)
    left = min(map(_limit_us, rungs)) / 1.5
    right = max(row.p50_us for row in rungs)
    axes.set(xscale="log", xlim=(left, right * (right / left) ** 0.45))
    axes.set(ylim=(len(rungs) - 0.4, -0.6))
    measured.plain_numbers(axes.xaxis, (1, 2, 5))
    axes.grid(axis="x", color=measured.GRID)


def _rungs(rows, order):
    """The row of each kernel in `order`."""
    rungs = []
    for name in order:
        found = [row for row in rows if row.kernel == name]
        if not found:
            kernels = ", ".join(measured.in_lines(rows, lambda row: row.kernel))
            raise ValueError(f"{name} must have 1 row, got 0: the rows are of {kernels}")
        if len(found) > 1:
            each = "; ".join(f"{row.weights}, {measured.problem(row)}" for row in found)
            raise ValueError(f"{name} must have 1 row, got {len(found)}: {each}")
        rungs += found
    if not rungs:
        raise ValueError("order names no kernel: there is nothing to draw")
    problems = measured.in_lines(rungs, measured.problem)
    if len(problems) > 1:
        found = "; ".join(problems)
        raise ValueError(f"the rows are of {len(problems)} problems, {found}: draw those of one")
    return rungs


def _limit_us(row):
    return roofline.floor_us(row.bytes, row.read_gb_per_s)


def _climb(rungs):
    """The cells of the table, rung by rung."""
    before = None
    for row in rungs:
        faster = f"{before.p50_us / row.p50_us:.2f}" if before else ""
        yield [
            measured.label(row),
            measured.microseconds(row.p50_us),
            faster,
            measured.microseconds(_limit_us(row)),
            f"{row.fraction:.0%}",
        ]
        before = row
