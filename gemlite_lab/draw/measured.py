"""The parts that pictures of measurements share: choosing rows, names, looks, and text."""

from functools import wraps
from itertools import cycle, product

from gemlite_lab.bench import measurements
from gemlite_lab.draw.canvas import SERIES

_MARKERS = "osD^vPX*<>pdh8"
_DASHES = ("-", "--", ":")
_COLUMNS = 100  # of text, at most
_STYLE = {
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def readable(function):
    """Give `function` letters large enough for a picture as wide as a notebook."""

    @wraps(function)
    def styled(*arguments, **options):
        from matplotlib import rc_context

        with rc_context(_STYLE):
            return function(*arguments, **options)

    return styled


def newest(rows):
    """The newest row with a time of each kernel and problem.

    Raises ValueError if there is none, or if the rows are of several devices.
    """
    rows = list(rows)
    devices = sorted({row.device for row in rows})
    if len(devices) > 1:
        raise ValueError(
            f"the rows are of {len(devices)} devices, {', '.join(devices)}: draw those of one"
        )
    rows = measurements.latest(rows)
    if not rows:
        raise ValueError("none of the rows has a time: there is nothing to draw")
    return rows


def label(row):
    """The name of a line or a bar: "humming W4 g128"."""
    return f"{row.kernel} {row.weights}" + " transposed" * row.transposed


def shape(row):
    return f"{row.N} x {row.K}"


def problem(row):
    """The problem in words: "N x K = 4096 x 4096, M = 1, transposed"."""
    return f"N x K = {shape(row)}, M = {row.M}" + ", transposed" * row.transposed


def microseconds(time):
    return f"{time:.3g}" if time < 1 else f"{time:,.1f}"


def in_lines(rows, key=label):
    """{key: its rows}, both in the order of first appearance."""
    lines = {}
    for row in rows:
        lines.setdefault(key(row), []).append(row)
    return lines


def colors(rows):
    """{label: its colour}; many labels repeat colours."""
    return dict(zip(in_lines(rows), cycle(SERIES), strict=False))


def looks(rows):
    """{label: how matplotlib draws its line}; no two differ by their colour alone.

    Raises ValueError for more lines than there are pairs of a marker and a dash.
    """
    color_of = colors(rows)
    most = len(_DASHES) * len(_MARKERS)
    if len(color_of) > most:
        raise ValueError(f"{len(color_of)} lines cannot be told apart: draw at most {most}")
    return {
        name: {
            "color": color,
            "marker": marker,
            "linestyle": dash,
            "markersize": 13 if marker == "*" else 10,
        }
        for (name, color), (dash, marker) in zip(
            color_of.items(), product(_DASHES, _MARKERS), strict=False
        )
    }


def plain_numbers(axis, steps):
    """Put ticks at `steps` of each power of ten, written as 0.1, 20 or 5,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def print_table(head, rows):
    """Print columns of text, the first on the left; columns that do not fit continue below.

    An empty cell is written as "-".
    """
    columns = [[str(cell) or "-" for cell in column] for column in zip(head, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    start = 1
    while start < len(columns):
        stop, room = start, _COLUMNS - widths[0]
        while stop < len(columns) and (stop == start or room >= widths[stop] + 2):
            room -= widths[stop] + 2
            stop += 1
        for line in zip(*columns[:1], *columns[start:stop], strict=True):
            cells = [f"{cell:>{w}}" for cell, w in zip(line[1:], widths[start:stop], strict=True)]
            print("  ".join([f"{line[0]:<{widths[0]}}", *cells]))
        start = stop
