"""Write the tables of whole models in docs/benchmarks.md.

python tools/model_table.py      (from benchmarks/data/model_nvidia_h200.csv)
"""

from pathlib import Path

from gemlite_lab.bench.model.measure import CELLS
from gemlite_lab.bench.model.report import limit_us
from gemlite_lab.bench.model.rows import recorded_steps
from gemlite_lab.bench.model.shapes import SHAPES

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN = "<!-- whole models: python tools/model_table.py -->"
END = "<!-- end of whole models -->"
CONTENDERS = ("fp16", "ours", "humming", "torchao", "gemlite")
_IN_PARTS = ("fp16", "ours")


def tables(rows):
    """The lines of Markdown between the marks of the page, of rows {place: `ModelRow`}."""
    yield _about(list(rows.values()))
    for shape in SHAPES:
        of_shape = {place[1:]: row for place, row in rows.items() if place[0] == shape}
        yield from ["", f"**{shape}, tokens a second, and times as fast as fp16**", ""]
        yield from _speeds(of_shape)
        yield from ["", f"**{shape}, where the microseconds go, and the memory**", ""]
        yield from _parts(of_shape)


def _about(rows):
    row = rows[0]
    reads = _span(f"{row.read_gb_per_s:,.0f}" for row in rows)
    products = _span(f"{row.matmul_tflops:.0f}" for row in rows)
    return (
        f"**{row.device}**, {_span(row.date for row in rows)}, torch {row.torch}, triton "
        f"{row.triton}, transformers {row.transformers}, CUDA {row.cuda}: reads at {reads} GB/s, "
        f"fp16 products at {products} TFLOP/s. A dash is a step that was not measured."
    )


def _span(told):
    """'first to last' of texts that sort as what they say, or the one that all are."""
    told = sorted(set(told))
    return told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"


def _speeds(rows):
    yield f"| step | {' | '.join(CONTENDERS)} | limit of the memory |"
    yield f"|---|{'---:|' * (len(CONTENDERS) + 1)}"
    for cell in CELLS:
        of_cell = [rows.get((name, cell.phase, cell.size)) for name in CONTENDERS]
        fp16, ours = of_cell[:2]
        told = [_speed(row, fp16) for row in of_cell]
        limit = f"{fp16.p50_us / limit_us(ours):.2f}x" if cell.phase == "decode" else ""
        yield f"| {_name(cell)} | {' | '.join(told)} | {limit} |"


def _speed(row, fp16):
    if row is None:
        return "-"
    times = "" if row is fp16 else f" ({fp16.p50_us / row.p50_us:.2f}x)"
    return f"{row.tokens_per_s:,.0f}{times}"


def _parts(rows):
    columns = [f"{name}: {c}" for name in _IN_PARTS for c in ("layers", "rest", "as is", "peak GB")]
    yield f"| step | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for cell in CELLS:
        told = []
        for name in _IN_PARTS:
            row = rows[name, cell.phase, cell.size]
            times = row.linear_us, row.p50_us - row.linear_us, row.as_is_us
            told += [f"{us:,.0f}" for us in times] + [f"{row.peak_bytes / 1e9:.2f}"]
        yield f"| {_name(cell)} | {' | '.join(told)} |"


def _name(cell):
    if cell.phase == "prefill":
        return f"prefill of {cell.size}"
    return f"decode, {cell.size} text{'s' * (cell.size > 1)}"


def page_with_tables(text):
    """The page's text with new tables between its marks; ValueError without marks or rows."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has not both marks, {BEGIN} and {END}: put them back")
    rows = recorded_steps("NVIDIA H200")
    return "\n".join([before + BEGIN, *tables(rows), END]) + after


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
