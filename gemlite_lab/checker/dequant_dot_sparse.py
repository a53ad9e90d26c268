"""Exercise of sparse_1in2_7bit: write dequant_dot, the hole of gemv_a16w7_sparse.

An answer may read both x of a pair and multiply one by 0, or let its lanes diverge. Both are right
and pass, with a line on the extra requests that they make to shared memory.
"""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import bounds, reference
from gemlite_edu.packing import pack_sparse_1in2
from gemlite_edu.runners.load import load
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.precise_cases import (
    fine_sparse_gemv,
    hidden_sparse_gemv,
    precise_sparse_gemv,
)
from gemlite_lab.checker.random_cases import random_sparse_gemv
from gemlite_lab.checker.sparse_cases import (
    exact_sparse_gemv,
    fractional_sparse_gemv,
    real_sparse_gemv,
)

_NAME = "dequant_dot_sparse"
_KERNEL = "gemv_a16w7_sparse"
_HOLE = "dequant_dot"
_PAIRS_IN_WORD = 4
_WARP_SIZE = 32


@cache
def _cases():
    shapes = ((33, 700), (2, 33), (2, 7))
    exact = [exact_sparse_gemv(*shape, seed) for seed, shape in enumerate(shapes)]
    exact += [fractional_sparse_gemv(33, 2, seed=4), precise_sparse_gemv(40, 300, seed=0)]
    small = [fine_sparse_gemv(seed=0), hidden_sparse_gemv(9, 300, seed=0)]
    return [*exact, real_sparse_gemv(), random_sparse_gemv(), *small]


def _fresh(seed):
    """Other numbers in the shape of the first case, and others of bfloat16: such that almost
    cancel, small ones, and large ones that meet pruned weights."""
    precise = partial(precise_sparse_gemv, 9, 300, dtype=torch.bfloat16)
    fine = partial(fine_sparse_gemv, dtype=torch.bfloat16)
    hidden = partial(hidden_sparse_gemv, 9, 300, dtype=torch.bfloat16)
    makes = partial(exact_sparse_gemv, 33, 700), precise, fine, hidden
    return [case for make in makes for case in fresh(make, seed)]


def _expected(case):
    W = (case.W_q.double() - case.zeros.double()) * case.scales.double() * case.kept
    right = reference.matmul(case.x, W)
    if case.is_exact:
        return right.to(case.x.dtype).half(), None
    return right, bounds.error_bound(case.x, W, case.x.dtype)


def _without_what_all_prune(case):
    """The case with 0 for each x that meets pruned weights alone."""
    is_kept = case.kept.any(0)
    return case if is_kept.all() else replace(case, x=torch.where(is_kept, case.x, 0))


def _run(answer, case, device):
    kernel = load(_KERNEL, None, case.x.dtype, {_HOLE: answer}, time_limit=10.0)
    W_packed = pack_sparse_1in2(case.W_q, case.kept)
    operands = case.x, W_packed, case.scales, case.zeros
    if device != "cpu" or not case.counts_reads:
        return run_watched(kernel, operands, device).half()
    report = kernel.inspect(*operands)
    report.raise_findings()
    _remark_on_reads(report, pairs=len(case.x) * W_packed.numel() * _PAIRS_IN_WORD)
    return report.y.half()


def _remark_on_reads(report, pairs):
    """A remark if a lane reads more than one x per pair, or if lanes take turns to read theirs."""
    lines = report.of("x_shared")
    reads = sum(line.lanes for line in lines) / pairs
    requests = _WARP_SIZE * sum(line.requests for line in lines) / pairs
    if reads > 1:
        print(
            f"{_NAME}: a lane reads {reads:.2f} x per pair; 1 is enough, that of the kept weight: "
            "choose the index first, then read"
        )
    elif requests > 1:
        print(
            f"{_NAME}: a pair takes {requests:.2f} requests to x_shared, some lanes in each; "
            "1 is enough if all choose their index first, then read together"
        )


DEQUANT_DOT_SPARSE = Exercise(
    name=_NAME,
    lesson="sparse_1in2_7bit",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "Start from the loop over 8-bit codes: four bytes, the first in the most significant "
        "bits. Then ask what each byte tells you besides its code.",
        "Of the byte, CODE_MASK leaves the code and FIRST_KEPT the position. The position chooses "
        "an index into x: 2 * p or 2 * p + 1 warps on.",
        "Shift the word right by 24 - 8 * p. Put brackets around an & that is compared: == comes "
        "before & in C. The pruned weight adds nothing, so its x need not be read.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=_expected,
    run=_run,
    traps={"each x of pruned weights were 0": _without_what_all_prune},
)
