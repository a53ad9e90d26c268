"""Exercise of notebook 03: write warp_reduce_sum, a hole of gemv_a16w16_warp."""

from dataclasses import replace
from functools import cache

import torch

from gemlite_edu.numbers import reference
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
    """Exact too, but with fractions, and lanes 16 apart hold large sums that almost cancel."""
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
    return right, reference.error_bound(case.x, case.W, torch.float16)


def _run(answer, case, device):
    kernel = load(_KERNEL, replace={_HOLE: answer}, time_limit=10.0)
    return run_watched(kernel, (case.x, case.W), device)


def _lane_sums(case):
    """What each lane brings to the reduction: (M, N, 32) float64."""
    M, K = case.x.shape
    pad = (0, -K % 32)
    x = torch.nn.functional.pad(case.x.double(), pad).reshape(M, 1, -1, 32)
    W = torch.nn.functional.pad(case.W.double(), pad).reshape(1, len(case.W), -1, 32)
    return (x * W).sum(2)


def _down(lanes, offset):
    """__shfl_down_sync over the last dimension: past the end a lane gets its own value."""
    return torch.cat([lanes[..., offset:], lanes[..., 32 - offset :]], -1)


def _after(offsets, combine=torch.add, other=_down):
    """Lane 0 once each lane has combined, for each offset, its value and what `other` brings."""

    def reduce(case):
        lanes = _lane_sums(case)
        for offset in offsets:
            lanes = combine(lanes, other(lanes, offset))
        return lanes[..., 0].half()

    return reduce


def _own_value_again(case):
    return (_lane_sums(case)[..., 0] * 32).half()


def _first_values(case):
    return _lane_sums(case)[..., [0, 16, 8, 4, 2, 1]].sum(-1).half()


def _arguments_swapped(case):
    return (_lane_sums(case)[..., 0] + 31).half()


def _add_in_half(own, other):
    return (own.float().half() + other.float().half()).double()


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
    expected=_expected,
    run=_run,
    mistakes={
        "nothing is reduced: lane 0 writes its own partial sum": _after(()),
        "the upper 16 lanes are dropped: the first step must reach 16 lanes up": _after(
            (8, 4, 2, 1)
        ),
        "only the first step, offset 16, is taken": _after((16,)),
        "the last step, offset 1, is missing": _after((16, 8, 4, 2)),
        "the offset is never halved": _after((16,) * 5),
        "the offset stays 1": _after((1,) * 5),
        "the neighbour's value replaces the sum instead of being added": _after(
            (16, 8, 4, 2, 1), combine=lambda own, other: other
        ),
        "each step adds lane 0's own value again: values must travel down, to lower lanes": (
            _own_value_again
        ),
        "the shuffle names lane `offset` itself, not the lane `offset` further up": _after(
            (16, 8, 4, 2, 1), other=lambda lanes, offset: lanes[..., offset : offset + 1]
        ),
        "value and offset are swapped in the shuffle": _arguments_swapped,
        "the first offset is 32, and nothing is 32 lanes up: a lane adds its own value": _after(
            (32, 16, 8, 4, 2, 1)
        ),
        "the offset goes down by 1 instead of being halved, so that lanes count many times": _after(
            range(16, 0, -1)
        ),
        "the offsets 1 to 31 are all taken, so that lanes count many times": _after(range(1, 32)),
        "the offsets 31 to 1 are all taken, so that lanes count many times": _after(
            range(31, 0, -1)
        ),
        "each step shuffles the lane's first value, not its running sum": _first_values,
        "the largest partial sum is taken instead of the sum": _after(
            (16, 8, 4, 2, 1), combine=torch.maximum
        ),
        "the sums are held in half precision": _after((16, 8, 4, 2, 1), combine=_add_in_half),
        "the sums are held in integers, which cut off the fraction": _after(
            (16, 8, 4, 2, 1), combine=lambda own, other: own.trunc() + other.trunc()
        ),
        "the value that a shuffle brings is put in an integer, which cuts off the fraction": _after(
            (16, 8, 4, 2, 1), combine=lambda own, other: own + other.trunc()
        ),
    },
)
