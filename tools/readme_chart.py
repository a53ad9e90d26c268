"""Draw README's chart: with 4-bit weights, how many times as fast as with fp16 weights.

On the left a whole model writes tokens, on the right one row of x is multiplied.

python tools/readme_chart.py      (from benchmarks/data/, into docs/images/readme_h200.svg)
"""

from pathlib import Path

import model_chart
from matplotlib.figure import Figure
from speedup_chart import draw_speedups, svg_of

from gemlite_lab.bench import measurements, roofline
from gemlite_lab.bench.model.rows import recorded_steps

PATH = Path(__file__).parent.parent / "docs" / "images" / "readme_h200.svg"
SHAPES = ((4096, 4096), (8192, 8192), (28672, 8192), (16384, 16384))
KERNELS = {"gemv_a16wn_fast": "gemlite_edu", "humming": "humming"}
KERNELS |= {"tinygemm": "torchao (tinygemm)", "gemlite": "gemlite"}


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


def drawn(found, limit, models):
    """The chart as SVG. models: rows {place: `ModelRow`}; the others as `speedups` returns them."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    of_model, of_row = figure.subplots(1, 2, sharey=True)
    model_chart.draw(of_model, "8B", *model_chart.speedups(models, "8B"))
    of_model.set_title("A model of Llama-3.1-8B's shape writes", fontsize=10)
    times = {label: found[name] for name, label in KERNELS.items()}
    draw_speedups(of_row, [f"{N} x {K}" for N, K in SHAPES], times, limit)
    of_row.set_title("One row of x is multiplied by a matrix", fontsize=10)
    of_row.set_xlabel("N x K")
    of_model.set(ylabel="times as fast as with fp16 weights", ylim=(0, None))  # of both panels
    figure.suptitle("4-bit weights in groups of 128, NVIDIA H200", fontsize=11)
    lines = dict(zip(*reversed(of_row.get_legend_handles_labels()), strict=True))
    where = {"loc": "outside lower center", "ncols": len(lines)}
    figure.legend(lines.values(), lines.keys(), frameon=False, fontsize=9, **where)
    return svg_of(figure)


def chart():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    return drawn(*speedups(rows), recorded_steps("NVIDIA H200"))


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(chart())
