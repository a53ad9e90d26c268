"""Exercise of notebook 03: write warp_reduce_sum, a hole of gemv_a16w16_warp."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import bounds, reference
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise, run_watched

_KERNEL = "gemv_a16w16_warp"
_HOLE = "warp_reduce_sum"


def _cases():
    return [
        cases.exact_plain(40, 1000, seed=0),
        cases.exact_plain(3, 20, seed=1),
        cases.exact_plain(33, 32, seed=2),
        _fractional_case(),
        cases.real_plain(),
    ]


def _fractional_case():
    """A case, also exact, with fractions; lanes 16 apart hold large sums that almost cancel."""
    case = cases.exact_plain(33, 256, seed=3)
    W, x = case.W.reshape(33, 8, 2, 16), case.x.reshape(-1, 8, 2, 16)
    W[:, :, 1] = W[:, :, 0]
    large = torch.arange(x[:, :, 0].numel()).reshape(x[:, :, 0].shape) * 97 % 1024 + 1000
    x[:, :, 0] += large
    x[:, :, 1] -= large
    return replace(case, label=f"{case.label}, with fractions", x=case.x * 0.5)


def _expected(case):
    right = reference.matmul(case.x, case.W)
    if case.is_exact:
        return right.half(), None
    return right, bounds.error_bound(case.x, case.W, torch.float16)


def _run(answer, case, device):
    kernel = load(_KERNEL, replace={_HOLE: answer}, time_limit=10.0)
    return run_watched(kernel, (case.x, case.W), device)


WARP_REDUCE_SUM = Exercise(
    name=_HOLE,
    notebook="03_gemv",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "32 numbers, five steps: after each step half as many lanes matter.",
        "In a step every lane adds the value that a lane `offset` further up holds; "
        "__shfl_down_sync(FULL_WARP, value, offset) brings it.",
        "offset runs 16, 8, 4, 2, 1, and all 32 lanes must make every call.",
    ),
    cases=cache(_cases),
    fresh=lambda seed: cases.fresh(partial(cases.exact_plain, 40, 1000), seed),
    expected=_expected,
    run=_run,
)
