"""`score` keeps each right kernel of the learner's as a row, and `own_ladder` draws the rows."""

from dataclasses import replace

from gemlite_lab.bench import ladder
from gemlite_lab.bench.score import score_of
from gemlite_lab.draw import bars, benchmarks
from gemlite_lab.lesson.kept_scores import keep_score, kept_scores

_NBITS, _RECORDED = 4, "W4 g128"
_MOST = 12


def score(kernel, N=4096, K=4096, name=None):
    """How near a GEMV of yours comes to the least that y = x Wᵀ needs: a `Score` to print.

    kernel: from `load`, with your texts in its holes or not, or from `one_row_kernel`. It takes one
    row of random x and random weights (N, K). The simulator checks it, and counts: bytes of memory,
    instructions, bank conflicts; from them follows the time on an H200 (`estimate`). With a GPU the
    harness of `make bench` measures the time, too, and refuses one that cannot be true.

    A right kernel with a time becomes a row of your own ladder, which `own_ladder` draws; name is
    what the row is called. Raises `NoScore` for a wrong kernel, and says what is wrong.
    """
    found = score_of(kernel, N, K)
    if not found.row.refused:
        named = keep_score(kernel.source, found.row, found.is_measured, name)
        print(f"own_ladder() has it as {named!r}" if named else "not kept: this is no workbook")
    return found


def own_ladder(N=4096, K=4096):
    """Draw your scored kernels of this shape beside our recorded ladder, and under the roofline.

    They are of the device of your newest score, at most the 12 newest. A kernel that was both
    measured and estimated is drawn as measured. Raises ValueError if you have no score of this
    shape.
    """
    kept = _newest(N, K)
    device = kept[0].row.device
    rows = [replace(one.row, kernel=f"yours: {one.row.kernel}") for one in kept]
    rungs = _recorded_rungs(device, N, K)
    title = f"{device}, N x K = {N} x {K}, M = 1: {_how(kept, rungs)}"
    order = [row.kernel for row in sorted([*rungs, *rows], key=lambda row: -row.p50_us)]
    bars.ladder([*rungs, *rows], order, own={row.kernel for row in rows}, title=title)
    benchmarks.roofline([*rungs[:1], *rungs[-1:], *rows], title)


def _newest(N, K):
    """The `KeptScore`s of this shape to draw: one of each kernel, all of one device."""
    every = kept_scores()
    found = [kept for kept in every if (kept.row.N, kept.row.K) == (N, K)]
    if not found:
        shapes = sorted({f"N = {kept.row.N}, K = {kept.row.K}" for kept in every})
        raise ValueError(
            f"no kernel of yours has a score at N = {N}, K = {K}: score(kernel, N={N}, K={K}) "
            f"first; there are scores at {'; '.join(shapes) or 'no shape yet'}"
        )
    device = found[-1].row.device
    of_device = [kept for kept in found if kept.row.device == device]
    measured_last = sorted(of_device, key=lambda kept: kept.is_measured)
    of_kernel = {kept.row.kernel: kept for kept in measured_last}
    names = list(dict.fromkeys(kept.row.kernel for kept in of_device))
    return [of_kernel[name] for name in names[-_MOST:]]


def _recorded_rungs(device, N, K):
    """The rows of the rungs whose idea was kept, from the first to the last."""
    if not ladder.path_of(device).exists():
        return []
    recorded = {
        row.kernel: row
        for row in ladder.recorded(device)
        if (row.weights, row.N, row.K) == (_RECORDED, N, K)
    }
    kept = [rung.name for rung in ladder.rungs(_NBITS) if rung.is_kept]
    return [recorded[name] for name in kept if name in recorded]


def _how(kept, rungs):
    """Which times are measured and which estimated, in words."""
    kinds = {one.is_measured for one in kept}
    yours = "yours measured" if kinds == {True} else "yours estimated"
    if len(kinds) == 2:
        yours = "some of yours measured, some estimated"
    return f"{yours}, ours measured" if rungs else yours
