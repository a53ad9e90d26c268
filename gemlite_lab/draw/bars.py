"""Measurements kernel by kernel: the fraction of the memory's speed as bars, a ladder as dots."""

from gemlite_lab.bench import roofline
from gemlite_lab.draw import measured
from gemlite_lab.draw.canvas import (
    GRID,
    INK,
    MARK,
    SERIES,
    canvas,
    counted,
    display_png,
    legend,
    write,
)

_BAR_HEIGHT = 0.3  # inches, including the space to the next one
_WIDE = 100  # times as much as at the left: few numbers have room below the axis


@measured.readable
def fraction_of_limit(rows):
    """Bars, grouped by shape: the fraction of the measured read bandwidth that each kernel reached.

    rows: a list of `Measurement` of one device; for each kernel and problem the newest is drawn.
    Raises ValueError if no row has a time, or for rows of several devices.
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
    axes.axvline(1, color=INK, linewidth=2)
    axes.set(xlim=(0, right + 0.07), ylim=(slots - 0.4, -0.6), title=title)
    axes.set_xticks([part / 4 for part in range(5)], [f"{25 * part}%" for part in range(5)])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID)
    what = f"{counted(len(rows), 'bar')} in {counted(len(groups), 'shape')}"
    display_png(figure, f"{title}: {what}, with a line at 100%")


@measured.readable
def ladder(rows, order, peer=None, own=(), title=None):
    """The median times of the kernels named in `order` on one problem, and the limit of each.

    The limit is the time to move the kernel's bytes at the read bandwidth of the same run. Times
    are dots and limits are marks, over log µs. A kernel that is slower than one before it has
    another colour. Rows of other kernels are left out; for each kernel and problem the newest is
    drawn. The weights may differ, so that fp16 can be a rung. peer: a row to compare with, drawn as
    a line. own: names of kernels with a colour of their own, and a line from p20 to p80. Raises
    ValueError if a kernel has no time or several, or for several devices or shapes.
    """
    rungs = _rungs(measured.newest(rows), order)
    _check_one_problem(rungs if peer is None else [*rungs, peer])
    title = title or f"{rungs[0].device}: {measured.problem(rungs[0])}"
    print(title)
    measured.print_table(
        ["kernel", "µs", "times faster", "limit µs", "of the limit"], _climb(rungs)
    )
    if peer:
        print(f"beside them: {_told(peer)}")

    figure, axes = canvas(10, 1.5 + _BAR_HEIGHT * len(rungs))
    legend(figure, _draw_rungs(axes, rungs, peer, own), ncols=3)
    shared = f", {rungs[0].weights}" if _have_one_format(rungs) else ""
    axes.set(xlabel="µs of a call", title=title + shared)
    text = f"{title}: a ladder of {counted(len(rungs), 'kernel')}, "
    text += f"from {_told(rungs[0])} to {_told(rungs[-1])}"
    display_png(figure, text + (f"; beside them {_told(peer)}" if peer else ""))


def _told(row):
    return f"{measured.label(row)}, {measured.microseconds(row.p50_us)} µs"


def _draw_groups(axes, groups, color_of, right):
    """Draw the bars, each group below its shape, and write their fractions from `right` on."""
    names = {}
    top = 0
    for title, rows in groups.items():
        write(axes, 0.005, top + 0.15, title, fontweight="bold")
        for y, row in enumerate(rows, top + 1):
            names[y] = measured.label(row)
            axes.barh(y, row.fraction, 0.75, color=color_of[names[y]])
            write(axes, right, y, f"{row.fraction:.0%}")
        top += 1 + len(rows)
    axes.set_yticks(list(names), names.values())


def _draw_rungs(axes, rungs, peer, own):
    """Draw a dot for each time and a mark at its limit, over log µs; the numbers stand beside them.

    Returns the artists that a legend explains.
    """
    explained = {}
    for y, (row, faster) in enumerate(zip(rungs, _times_faster(rungs), strict=True)):
        what, color = _kind_of_dot(row, faster, own)
        explained[what] = axes.scatter(row.p50_us, y, s=70, color=color, zorder=3)
        if row.kernel in own:
            axes.hlines(y, row.p20_us, row.p80_us, color=color, linewidth=2)
        limit = axes.vlines(_limit_us(row), y - 0.4, y + 0.4, color=INK, linewidth=3)
        text = f"{measured.microseconds(row.p50_us)} µs, {row.fraction:.0%}"
        write(axes, 1.02, y, text, transform=axes.get_yaxis_transform())
    write(axes, 1.02, -1, "of the limit", transform=axes.get_yaxis_transform())
    explained["limit: its bytes at the read bandwidth measured"] = limit
    if peer:
        line = axes.axvline(peer.p50_us, color=SERIES[2], linewidth=2, linestyle="--", zorder=0)
        explained[measured.label(peer)] = line
    for text, handle in explained.items():
        handle.set_label(text)
    _label_rungs(axes, rungs, peer, own)
    return list(explained.values())


def _kind_of_dot(row, faster, own):
    """(what the legend says of a dot, its colour)."""
    if row.kernel in own:
        return "yours", SERIES[1]
    if faster and faster < 1:
        return "slower than one before it", MARK
    return "time", SERIES[0]


def _label_rungs(axes, rungs, peer, own):
    names = [row.kernel if _have_one_format(rungs) else measured.label(row) for row in rungs]
    axes.set_yticks(range(len(rungs)), names)
    axes.tick_params(axis="y", length=0)
    left = min(map(_limit_us, rungs)) / 1.15
    ends = [row.p80_us if row.kernel in own else row.p50_us for row in rungs]
    right = max([*ends, *([peer.p50_us] if peer else [])]) * 1.15
    axes.set(xscale="log", xlim=(left, right), ylim=(len(rungs) - 0.4, -0.6))
    measured.plain_numbers(axes.xaxis, (1, 3) if right > _WIDE * left else (1, 1.5, 2, 3, 5, 7))
    axes.grid(color=GRID)


def _have_one_format(rungs):
    """Then the title names the weights, once for all rungs."""
    return len({row.weights for row in rungs}) == 1


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
    return rungs


def _check_one_problem(rows):
    problems = measured.in_lines(rows, measured.problem)
    if len(problems) > 1:
        found = "; ".join(problems)
        raise ValueError(f"the rows are of {len(problems)} problems, {found}: draw those of one")


def _limit_us(row):
    return roofline.floor_us(row.bytes, row.read_gb_per_s)


def _times_faster(rungs):
    """How many times faster each rung is than the fastest before it; None for the first."""
    fastest = None
    for row in rungs:
        yield fastest and fastest / row.p50_us
        fastest = min(row.p50_us, fastest or row.p50_us)


def _climb(rungs):
    """The cells of the table, rung by rung."""
    for row, faster in zip(rungs, _times_faster(rungs), strict=True):
        yield [
            measured.label(row),
            measured.microseconds(row.p50_us),
            f"{faster:.2f}" if faster else "",
            measured.microseconds(_limit_us(row)),
            f"{row.fraction:.0%}",
        ]
