"""Curves of measurements over the width of the weights."""

from gemlite_lab.bench import roofline
from gemlite_lab.draw import measured
from gemlite_lab.draw.canvas import GRID, INK, SERIES, canvas, display_png, legend

_MARKERS = "osD^vP"
_LIMIT = "limit"


@measured.readable
def time_against_bits(rows):
    """The median time over the bits of a weight, one line per kernel, and the limit below them.

    rows: a list of `Measurement` of one device, one N x K and one M; for each kernel and problem
    the newest is drawn. Kernels on unquantized weights, W16, are level lines. The limit is the time
    to move the bytes at the read bandwidth of the same run.
    Raises ValueError if no row has a time, for several devices, problems, or group sizes of a
    kernel, if only W16 was measured, or for more than 6 kernels.
    """
    rows = measured.newest(rows)
    problem = _one_problem(rows)
    times = {name: _by_bits(name, of) for name, of in _by_kernel(rows).items()}
    widths = sorted({bits for line in times.values() for bits in line}, reverse=True)
    packed = [bits for bits in widths if bits < 16]
    if not packed:
        raise ValueError("the rows are of W16 only: there is no width to draw over")
    limits = {bits: min(_limit_us(row) for row in rows if _bits(row) == bits) for bits in packed}
    title = f"{rows[0].device}: {problem}"
    print(f"{title}: median µs of a call")
    _print_times(times | {_LIMIT: limits}, widths)

    figure, axes = canvas(10, 5.2)
    _draw(axes, times, limits)
    legend(figure, axes.get_legend_handles_labels()[0], ncols=3)
    axes.set(xlabel="bits of a weight", ylabel="µs of a call", title=title)
    axes.set(xlim=(max(packed) + 0.3, min(packed) - 0.3), ylim=(0, None))
    axes.set_xticks(packed, packed)
    axes.grid(axis="y", color=GRID)
    ends = f"{max(packed)} to {min(packed)} bits"
    display_png(figure, f"{title}: times of {len(times)} kernels from {ends}, above their limit")


def _one_problem(rows):
    problems = measured.in_lines(rows, measured.problem)
    if len(problems) > 1:
        found = "; ".join(problems)
        raise ValueError(f"the rows are of {len(problems)} problems, {found}: draw those of one")
    return next(iter(problems))


def _by_kernel(rows):
    kernels = measured.in_lines(rows, lambda row: row.kernel)
    if len(kernels) > len(_MARKERS):
        raise ValueError(f"{len(kernels)} lines are too many: draw at most {len(_MARKERS)} kernels")
    return kernels


def _by_bits(name, rows):
    """{bits: median µs}"""
    times = {_bits(row): row.p50_us for row in rows}
    if len(times) < len(rows):
        found = ", ".join(row.weights for row in rows)
        raise ValueError(f"{name} has several rows of one width, {found}: draw one of them")
    return times


def _bits(row):
    return int(row.weights.split()[0].removeprefix("W"))


def _limit_us(row):
    return roofline.floor_us(row.bytes, row.read_gb_per_s)


def _print_times(times, widths):
    head = ["kernel", *(f"W{bits}" for bits in widths)]
    lines = [
        [name, *(measured.microseconds(line[bits]) if bits in line else "" for bits in widths)]
        for name, line in times.items()
    ]
    measured.print_table(head, lines)


def _draw(axes, times, limits):
    for (name, line), color, marker in zip(times.items(), SERIES, _MARKERS, strict=False):
        over = {bits: us for bits, us in line.items() if bits < 16}
        if 16 in line:
            axes.axhline(line[16], color=color, linestyle="--", label=f"{name} W16")
        if over:
            axes.plot(*_sorted(over), color=color, marker=marker, markersize=9, label=name)
    axes.plot(*_sorted(limits), color=INK, linewidth=3, label=_LIMIT)


def _sorted(line):
    return zip(*sorted(line.items()), strict=True)
