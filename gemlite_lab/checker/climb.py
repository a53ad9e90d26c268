"""Exercise of what_limits: from one thread per output, climb five rungs to a fused 4-bit GEMV."""

from dataclasses import replace
from functools import cache

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_lab.checker.climb_rungs import standing
from gemlite_lab.checker.compare import is_close
from gemlite_lab.checker.exercise import NotYet, run_watched
from gemlite_lab.checker.fused_gemv import FUSED_GEMV, one_row_case
from gemlite_lab.lesson.one_row import one_row_kernel

_NAME, _TOP = "climb", 5
_TILE = 256
_COUNTED, _AGAIN = "counted", "counted again"


@cache
def _cases():
    """Those of fused_gemv, and then the call that is counted."""
    return [*FUSED_GEMV.cases(), _counted_case(64, 16, 0, _COUNTED)]


def _fresh(seed):
    return [*FUSED_GEMV.fresh(seed), _counted_case(96, 8 + seed % 8, seed, _AGAIN)]


def _counted_case(N, tiles, seed, what):
    """Whole blocks and tiles, so that only the product is counted; few, so that sums are exact."""
    case = one_row_case(N, tiles * _TILE, seed)
    return replace(case, label=f"{case.label}, {what}")


def _run(answer, case, device):
    kernel = one_row_kernel(answer, case.nbits, case.x.dtype, time_limit=10.0)
    operands = pack_warped_int32(case.W_q, case.nbits), case.scales, case.zeros
    if device != "cpu":
        rows = [run_watched(kernel, (x, *operands), device) for x in case.x.split(1)]
        return torch.cat(rows).half()
    reports = [kernel.inspect(x, *operands) for x in case.x.split(1)]
    for report in reports:
        report.raise_findings()
    y = torch.cat([report.y for report in reports]).half()
    if case.label.endswith((_COUNTED, _AGAIN)):
        _judge_rungs(reports[0], case, operands[0], y)
    return y


def _judge_rungs(report, case, W, y):
    """Print the rungs of a right kernel, or raise NotYet if it is not at the top."""
    if not is_close(y, FUSED_GEMV.expected(case)[0]).all():
        return  # the checker says what is wrong
    climbed, text = standing(report, case.x, W)
    if climbed < _TOP:
        raise NotYet(
            f"{_NAME} is right, and stands on rung {climbed} of {_TOP}. Of the call with "
            f"N = {len(W)}, K = {case.x.shape[1]}:\n{text}"
        )
    if case.label.endswith(_COUNTED):
        print(text)


CLIMB = replace(
    FUSED_GEMV,
    name=_NAME,
    lesson="what_limits",
    cases=_cases,
    fresh=_fresh,
    run=_run,
    hints=(
        "Climb one rung at a time: which 32 words do the lanes of a warp ask for at once, and do "
        "they lie side by side? A row belongs to a warp, and each lane to one word of 32.",
        "Rungs 3 and 4 ask for each number once: a lane keeps its word for all eight codes, and a "
        "block keeps x in shared memory. What is left are turns: about one for each x, of a word's "
        "eight codes. An x that has come can meet more than one weight.",
        "Two rows of W meet the same x. Let a warp take two of its block's rows, so that half of "
        "the warps have none, and keep two words, two zeros and two sums. Or let a lane take two "
        "neighbouring words, and read two neighbouring x at once; mind the banks.",
    ),
)
