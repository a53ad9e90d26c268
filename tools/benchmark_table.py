"""Write the tables of performance in docs/benchmarks.md.

python tools/benchmark_table.py      (from benchmarks/data/bench_*.csv)
"""

import os
import subprocess
from pathlib import Path

from cells_behind import cells_behind, fastest

from gemlite_lab.bench import measurements, roofline
from gemlite_lab.bench.problem import WeightFormat

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN = "<!-- benchmark table: python tools/benchmark_table.py -->"
END = "<!-- end of the benchmark table -->"
EXPLANATION = """\
Median microseconds of a call, and how much of the limit it reached; in bold the fastest, and what
its spread (p20 to p80) does not tell from it. The limit is what the roofline allows: the least
bytes of x, y, packed weights, 16-bit scales and zeros at the measured read bandwidth, or the
operations at the measured rate of a large fp16 product, whichever takes longer. fp16 is the
fastest kernel on unquantized weights; kernels with a8 in their name take int8 x; of W7 sparse one
weight of each pair is kept, in the bytes of W4. Products of int8 by int8 have a higher limit than
the one of fp16, against which all are shown. Errors are ||y - y64|| / ||y64|| against fp64.
All kernels on fp16 and the spread of the times are in
[benchmarks/data](../benchmarks/data/bench_nvidia_h200.csv)."""


def tables(folder=measurements.FOLDER):
    """The lines of Markdown between the marks of the page, from every bench_*.csv in `folder`."""
    paths = [path for path in sorted(folder.glob("bench_*.csv")) if _is_committed(path)]
    if not paths:
        yield "How fast the kernels themselves are is not measured yet."
        return
    yield EXPLANATION
    for path in paths:
        rows = measurements.newest(measurements.read(path))
        if rows:
            yield from ["", _about(rows)]
            yield from cells_behind(rows)
            yield from _of_device(rows)


def _is_committed(path):
    """True if git tracks the file or cannot tell: a learner's own files stay out of the page."""
    command = ["git", "ls-files", "--error-unmatch", path.name]
    environment = os.environ | {"LC_ALL": "C"}
    try:
        found = subprocess.run(
            command, cwd=path.parent, env=environment, capture_output=True, text=True
        )
    except FileNotFoundError:
        return True
    return "did not match any file" not in found.stderr


def _of_device(rows):
    roofs = max(row.read_gb_per_s for row in rows), max(row.matmul_tflops for row in rows)
    widths = dict.fromkeys(row.weights for row in rows if row.weights != "W16")
    for transposed in (False, True):
        one_way = [row for row in rows if row.transposed == transposed]
        baseline = _fastest_fp16(one_way)
        for weights in widths:
            quantized = [row for row in one_way if row.weights == weights]
            if quantized:
                product = ", the transposed product x W" if transposed else ""
                yield from ["", f"**{weights}{product}**", ""]
                yield from _table(quantized, baseline, roofs)
                yield from ["", _errors(quantized)]


def _about(rows):
    """The GPU and the versions with which the rows were measured."""
    found = [_several(rows, name) for name in ("date", "torch", "triton", "cuda")]
    date, torch, triton, cuda = found
    read, matmul = max(r.read_gb_per_s for r in rows), max(r.matmul_tflops for r in rows)
    return (
        f"**{rows[0].device}**, {date}, torch {torch}, triton {triton}, CUDA {cuda}: "
        f"reads at {read:,.0f} GB/s, fp16 products at {matmul:,.0f} TFLOP/s."
    )


def _several(rows, name):
    *first, last = sorted({getattr(row, name) for row in rows})
    return f"{', '.join(first)} and {last}" if first else last


def _fastest_fp16(rows):
    """{(M, N, K): the fastest row on unquantized weights in fp16}"""
    found = {}
    for row in rows:
        if (row.weights, row.x_dtype) == ("W16", "float16") and not row.refused:
            found[_shape(row)] = fastest([row, found.get(_shape(row), row)])
    return found


def _shape(row):
    return row.M, row.N, row.K


def _table(rows, baseline, roofs):
    """Rows by M, then by the size of the weights; a column for each kernel, and one for fp16."""
    kernels = list(dict.fromkeys(row.kernel for row in rows))
    found = {(row.kernel, _shape(row)): row for row in rows}
    yield "| " + " | ".join(["M", "N x K", "limit", *kernels, "fp16"]) + " |"
    yield "|---:|---|" + "---:|" * (len(kernels) + 2)
    for shape in sorted({_shape(row) for row in rows}, key=lambda s: (s[0], s[1] * s[2], s)):
        M, N, K = shape
        limit = _limit_us(*shape, rows[0].weights, roofs)
        line = [*(found.get((kernel, shape)) for kernel in kernels), baseline.get(shape)]
        best = fastest(row for row in line if row and not row.refused)
        cells = [_cell(row, limit, best) for row in line]
        yield "| " + " | ".join([str(M), f"{N} x {K}", f"{limit:.1f}", *cells]) + " |"


def _limit_us(M, N, K, weights, roofs):
    format = WeightFormat.parse(weights)
    nbytes = roofline.least_bytes(M, N, K, format.bits_per_weight, format.group_size)
    tflops = roofline.attainable_tflops(roofline.intensity(M, N, K, nbytes), *roofs)
    return 2 * M * N * K / (tflops * 1e6)


def _cell(row, limit, best):
    if row is None:
        return ""
    if row.refused:
        return "refused"
    time = f"{row.p50_us:,.1f}" if row.p50_us < 1000 else f"{row.p50_us:,.0f}"
    is_fastest = row.p20_us <= best.p80_us  # the spread could turn their order
    return f"{f'**{time}**' if is_fastest else time} ({limit / row.p50_us:.0%})"


def _errors(rows):
    """The versions that were timed, and the largest error of each kernel in these rows."""
    found = []
    for kernel in dict.fromkeys(row.kernel for row in rows):
        own = [row for row in rows if row.kernel == kernel and not row.refused]
        if not own:
            continue
        largest = max(row.error for row in own)
        found.append(f"{kernel} ({_several(own, 'version')}) {largest:.1e}")
    return f"Largest errors: {', '.join(found)}."


def page_with_table(text, folder=measurements.FOLDER):
    """The page's text with new tables between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has not both marks, {BEGIN} and {END}: put them back")
    return "\n".join([before + BEGIN, *tables(folder), END]) + after


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
