"""What the charts of speedups share: their lines, and SVG in the page's own color of text."""

import io
import re

import matplotlib

from gemlite_lab.draw.canvas import SERIES

_DARK = "@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }"
_STYLE = f"<style>svg {{ color: #1f2328; font-family: sans-serif }} {_DARK}</style>"


def draw_speedups(axes, ticks, times, limit):
    """Draw how many times as fast as fp16 each library is, and could be at the memory's limit.

    times: {label: a number, or None, for each tick}, ours first; a label without numbers is left
    out, and the others keep their colors.
    """
    places = range(len(ticks))
    axes.plot(places, limit, color="black", linestyle="--", label="limit of the memory")
    widths = [2.5] + [1.2] * len(times)
    for (label, of_label), color, width in zip(times.items(), SERIES, widths, strict=False):
        points = [(x, y) for x, y in zip(places, of_label, strict=True) if y]
        if points:
            axes.plot(
                *zip(*points, strict=True), color=color, marker="o", linewidth=width, label=label
            )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(places, ticks, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def svg_of(figure):
    """The figure as SVG without a white page, the same bytes in each run."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "gemlite_edu", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<(metadata|style).*?</\1>", "", stream.getvalue(), flags=re.DOTALL)
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    return re.sub(r"(<svg[^>]*)>", rf'\1 fill="currentColor">{_STYLE}', svg, count=1)
