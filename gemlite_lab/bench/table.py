"""The rows of a run as text."""

_HEADER = f"  {'kernel':24} {'us':>9} {'p20':>9} {'p80':>9} {'GB/s':>7} {'of read':>7} {'error':>8}"


def table(rows):
    """One line per row, problem by problem: the fastest first, refusals with their reason last.

    "of read" is the fraction of the card's read bandwidth at which the kernel moved its bytes.
    """
    lines = []
    for problem in dict.fromkeys(row.problem for row in rows):
        of_problem = [row for row in rows if row.problem == problem]
        lines += ["", _title(of_problem[0]), _HEADER]
        lines += map(_line, sorted(of_problem, key=lambda row: (bool(row.refused), row.p50_us)))
    return "\n".join(lines)


def _title(row):
    product = ", transposed" if row.transposed else ""
    return f"{row.weights}{product}, N x K = {row.N} x {row.K}, M = {row.M}"


def _line(row):
    if row.refused:
        return f"  {row.kernel:24} refused: {row.refused} (seed {row.seed})"
    return (
        f"  {row.kernel:24} {row.p50_us:9.1f} {row.p20_us:9.1f} {row.p80_us:9.1f} "
        f"{row.gb_per_s:7.0f} {row.fraction:7.0%} {row.error:8.1e}"
    )
