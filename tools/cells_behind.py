"""In which cells of the benchmark another library is ahead of every kernel of this package."""

from gemlite_edu.bench.candidate import candidates

_LEVEL = 1.02  # times the faster one: less is no difference


def cells_behind(rows):
    """The lines of a Markdown table of them: newest measurements of one device.

    An unquantized product in fp16 counts, too.
    """
    own = {one.name for one in candidates().values() if one.package == "gemlite_edu"}
    rows = [row for row in rows if not row.refused]
    ours = _fastest([row for row in rows if row.kernel in own and row.weights != "W16"])
    others = [row for row in rows if row.kernel not in own]
    others = _fastest([row for row in others if (row.weights, row.x_dtype) != ("W16", "bfloat16")])
    yield from ["", "**Where another library is ahead, or an fp16 W**", ""]
    yield "| weights | M | N x K | fastest here | µs | another | µs | times |"
    yield "|---|---:|---|---|---:|---|---:|---:|"
    for (weights, shape), here in ours.items():
        rivals = [others.get((of, shape)) for of in (weights, "W16")]
        ahead = min(filter(None, rivals), key=lambda row: row.p50_us, default=here)
        if here.p50_us > _LEVEL * ahead.p50_us:
            yield _line(here, ahead)


def _fastest(rows):
    """{(weights, shape): the fastest row}, by weights and M."""
    rows = sorted(rows, key=lambda row: -row.p50_us)
    found = {(row.weights, (row.M, row.N, row.K, row.transposed)): row for row in rows}
    return dict(sorted(found.items()))


def _line(here, ahead):
    direction = ", transposed" if here.transposed else ""
    problem = f"| {here.weights} | {here.M} | {here.N} x {here.K}{direction} "
    times = here.p50_us / ahead.p50_us
    ours = f"| {here.kernel} | {here.p50_us:,.1f} "
    return f"{problem}{ours}| {ahead.kernel} | {ahead.p50_us:,.1f} | {times:.2f} |"
