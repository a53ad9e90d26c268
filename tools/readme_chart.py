"""Draw README's chart: one row of x by 4-bit weights, how many times as fast as fp16 weights.

python tools/readme_chart.py      (from benchmarks/data/, into docs/images/one_row_h200.svg)
"""

import io
import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from gemlite_lab.bench import measurements, roofline
from gemlite_lab.draw.canvas import SERIES

PATH = Path(__file__).parent.parent / "docs" / "images" / "one_row_h200.svg"
SHAPES = ((4096, 4096), (8192, 8192), (28672, 8192), (16384, 16384))
KERNELS = {"gemv_a16wn_fast": "gemlite_edu", "humming": "humming"}
KERNELS |= {"tinygemm": "tinygemm (PyTorch)", "gemlite": "gemlite"}
_DARK = "@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }"
_STYLE = f"<style>svg {{ color: #1f2328; font-family: sans-serif }} {_DARK}</style>"


def speedups(rows):
    """({kernel: times as fast as cuBLAS with fp16 weights, per shape}, the same at the limit)."""
    us = {(r.kernel, r.weights, r.N, r.K): r for r in rows if r.M == 1 and not r.transposed}
    fp16 = [us["cublas", "W16", *shape].p50_us for shape in SHAPES]
    found = {
        name: [base / us[name, "W4 g128", *s].p50_us for s, base in zip(SHAPES, fp16, strict=True)]
        for name in KERNELS
    }
    read = max(row.read_gb_per_s for row in rows)
    least = [roofline.least_bytes(1, *shape, 4, 128) / read / 1e3 for shape in SHAPES]
    return found, [base / floor for base, floor in zip(fp16, least, strict=True)]


def drawn(found, limit):
    """The chart as SVG, in the page's own colour of text, light or dark."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    places = range(len(SHAPES))
    axes.plot(places, limit, color="black", linestyle="--", label="limit of the memory")
    for (name, times), color in zip(found.items(), SERIES, strict=False):
        width = 2.5 if name == "gemv_a16wn_fast" else 1.2
        axes.plot(places, times, color=color, marker="o", linewidth=width, label=KERNELS[name])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.text(len(SHAPES) - 1, 0.65, "fp16 weights, cuBLAS", ha="right", fontsize=9)
    axes.set_xticks(places, [f"{N} x {K}" for N, K in SHAPES])
    axes.set(ylim=(0, None), xlabel="N x K", ylabel="times as fast as fp16")
    axes.set_title("One row of x, 4-bit weights in groups of 128, NVIDIA H200", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return svg_of(figure)


def svg_of(figure):
    """The figure without its white page, the same bytes in each run."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "gemlite_edu", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<(metadata|style).*?</\1>", "", stream.getvalue(), flags=re.DOTALL)
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    return re.sub(r"(<svg[^>]*)>", rf'\1 fill="currentColor">{_STYLE}', svg, count=1)


def chart():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    return drawn(*speedups(rows))


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(chart())
