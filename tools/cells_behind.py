"""The cells of the benchmark in which no kernel of this package is the fastest."""

from gemlite_lab.bench.candidate import find_candidates


def cells_behind(rows):
    """The lines of a Markdown table of these cells, from the newest measurements of one device.

    Rivals are the kernels on the same weights and the fp16 products of unquantized weights; for
    int8 x, and where this package has no kernel, also products in bf16 and of int8 by int8. Cells
    in which the spreads (p20 to p80) overlap are left out.
    """
    own = {one.name for one in find_candidates().values() if one.package == "gemlite_edu"}
    rows = [row for row in rows if not row.refused]
    problems = dict.fromkeys(_problem(row) for row in rows if row.weights != "W16")
    yield from ["", "**Where another library is ahead, or an unquantized W**", ""]
    yield "| weights | M | N x K | fastest here | µs | another | µs | times |"
    yield "|---|---:|---|---|---:|---|---:|---:|"
    for problem in sorted(problems):
        here = fastest(row for row in rows if row.kernel in own and _problem(row) == problem)
        ahead = fastest(
            row for row in rows if row.kernel not in own and _rivals(row, problem, here)
        )
        if ahead and (here is None or here.p20_us > ahead.p80_us):
            yield _line(problem, here, ahead)


def fastest(rows):
    """The row with the least median; None if there are no rows."""
    return min(rows, key=lambda row: row.p50_us, default=None)


def _problem(row):
    return row.weights, row.M, row.N, row.K, row.transposed


def _rivals(row, problem, here):
    weights, *shape = problem
    if [row.M, row.N, row.K, row.transposed] != shape:
        return False
    dense = {("W16", "float16")}
    if here is None or here.x_dtype == "int8":
        dense |= {("W16", "bfloat16"), ("W8", "int8")}
    return row.weights == weights or (row.weights, row.x_dtype) in dense


def _line(problem, here, ahead):
    weights, M, N, K, transposed = problem
    ours = f"{here.kernel} | {here.p50_us:,.1f}" if here else "not measured |"
    times = f"{here.p50_us / ahead.p50_us:.2f}" if here else ""
    where = f"{weights} | {M} | {N} x {K}{', transposed' if transposed else ''}"
    return f"| {where} | {ours} | {ahead.kernel} | {ahead.p50_us:,.1f} | {times} |"
