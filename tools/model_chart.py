"""Draw whole models: decoding with 4-bit weights, how many times as fast as with fp16 weights.

python tools/model_chart.py      (from benchmarks/data/, into docs/images/models_h200.svg)
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from speedup_chart import draw_speedups, svg_of

from gemlite_lab.bench.model.measure import BATCHES
from gemlite_lab.bench.model.report import limit_us
from gemlite_lab.bench.model.rows import recorded_steps
from gemlite_lab.bench.model.shapes import SHAPES

PATH = Path(__file__).parent.parent / "docs" / "images" / "models_h200.svg"
NAMES = {"ours": "gemlite_edu", "humming": "humming", "torchao": "torchao (tinygemm)"}
NAMES |= {"gemlite": "gemlite"}


def speedups(rows, shape):
    """({contender: times as fast as fp16, per batch}, the same at the limit) of `newest_rows`.

    A time is None where there is no row. Raises ValueError if fp16 or ours lacks a batch.
    """
    us = {
        name: [rows.get((shape, name, "decode", size)) for size in BATCHES]
        for name in ("fp16", *NAMES)
    }
    for name in ("fp16", "ours"):
        if None in us[name]:
            raise ValueError(
                f"decoding of {shape} has no row of {name} for each of {BATCHES} texts: "
                "run make bench-model"
            )
    base = [row.p50_us for row in us.pop("fp16")]
    found = {
        name: [row and fp16 / row.p50_us for row, fp16 in zip(of, base, strict=True)]
        for name, of in us.items()
        if any(of)
    }
    return found, [fp16 / limit_us(row) for row, fp16 in zip(us["ours"], base, strict=True)]


def drawn(rows):
    """The chart as SVG, in the page's own colour of text, light or dark."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    panels = figure.subplots(1, len(SHAPES), sharey=True)
    for axes, shape in zip(panels, SHAPES, strict=True):
        draw(axes, shape, *speedups(rows, shape))
    panels[0].set(ylim=(0, None), ylabel="times as fast as fp16")  # of both panels
    figure.suptitle("Decoding, 4-bit weights in groups of 128, NVIDIA H200", fontsize=11)
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    named = {label: line for label, line in lines.items() if not label.startswith("_")}
    where = {"loc": "outside lower center", "ncols": len(named)}
    figure.legend(named.values(), named.keys(), frameon=False, fontsize=9, **where)
    return svg_of(figure)


def draw(axes, shape, found, limit):
    """Draw what `speedups` found of one shape."""
    nothing = [None] * len(BATCHES)
    times = {label: found.get(name, nothing) for name, label in NAMES.items()}
    draw_speedups(axes, BATCHES, times, limit)
    axes.set_title(f"Llama, {shape} shape", fontsize=10)
    axes.set_xlabel("texts at once")


def chart():
    """The chart of the recorded rows. Raises ValueError without them."""
    return drawn(recorded_steps("NVIDIA H200"))


if __name__ == "__main__":
    try:
        PATH.write_text(chart())
    except ValueError as error:
        sys.exit(str(error))
