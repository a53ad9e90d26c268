"""SVG of the charts: the page's own color of text, no white page, the same bytes in each run."""

import io
import re

import matplotlib

_DARK = "@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }"
_STYLE = f"<style>svg {{ color: #1f2328; font-family: sans-serif }} {_DARK}</style>"


def svg_of(figure):
    """The figure as SVG, for light and dark pages."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "gemlite_edu", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<(metadata|style).*?</\1>", "", stream.getvalue(), flags=re.DOTALL)
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    return re.sub(r"(<svg[^>]*)>", rf'\1 fill="currentColor">{_STYLE}', svg, count=1)
