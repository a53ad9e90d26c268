"""Exercise of gemv: write warp_reduce_sum, a hole of gemv_a16w16_warp."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import bounds, reference
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import CheckFailed, Exercise, run_watched
from gemlite_lab.checker.random_cases import random_plain

_KERNEL = "gemv_a16w16_warp"
_HOLE = "warp_reduce_sum"
_LARGEST = torch.finfo(torch.float16).max
_LOW = 2**12  # W has the lower twelve bits of a lane's number, and what is above them
_UNITS = 2.0 ** torch.tensor([-24, -19, -14, -9, -4, -2, 0, 3])


def _cases():
    return [
        cases.exact_plain(40, 1000, seed=0),
        cases.exact_plain(3, 20, seed=1),
        cases.exact_plain(33, 32, seed=2),
        _fractional_case(),
        _large_case(),
        cases.real_plain(),
        random_plain(),
        _case_of_all_magnitudes(seed=0),
    ]


def _fresh(seed):
    """Other numbers in the shape of the first case, and others of all magnitudes."""
    makes = partial(cases.exact_plain, 40, 1000), _case_of_all_magnitudes
    return [case for make in makes for case in cases.fresh(make, seed)]


def _fractional_case():
    """A case, also exact, with fractions; lanes 16 apart hold large sums that almost cancel."""
    case = cases.exact_plain(33, 256, seed=3)
    W, x = case.W.reshape(33, 8, 2, 16), case.x.reshape(-1, 8, 2, 16)
    W[:, :, 1] = W[:, :, 0]
    large = torch.arange(x[:, :, 0].numel()).reshape(x[:, :, 0].shape) * 97 % 1024 + 1000
    x[:, :, 0] += large
    x[:, :, 1] -= large
    return replace(case, label=f"{case.label}, with fractions", x=case.x * 0.5)


def _large_case():
    """A case, also exact: the largest fp16 as y, larger sums, and sums up to 2**29 that cancel."""
    x, W = torch.zeros(8, 64), torch.zeros(6, 64)
    x[:, 3], x[:, [9, 40]], x[:, 7] = _LARGEST, -_LARGEST, torch.arange(8.0)
    W[0, 3], W[1, 3] = 1, -1
    W[4, 3], W[5, 3] = 2, -2  # y is infinite
    W[2, [3, 9, 40, 7]] = torch.tensor([2.0, 1.0, 1.0, 1.0])
    W[3, [3, 9, 40, 7]] = torch.tensor([8192.0, 4096.0, 4096.0, 64.0])
    return cases.PlainCase("M = 8, N = 6, K = 64, numbers up to 65504", W.half(), x.half(), True)


def _case_of_all_magnitudes(seed):
    """A case, also exact, whose lanes hold numbers of 17 and 23 bits, in units of 2**-24 to 8.

    Each row of x has its own unit. In every other row of W three lanes hold large numbers that
    cancel, and the others small ones; in the rest all lanes together almost cancel.
    """
    generator = torch.Generator().manual_seed(seed)
    N = len(_UNITS)
    numbers = torch.randint(-(2**17), 2**17, (N, 32), generator=generator)
    numbers -= numbers.sum(1, keepdim=True) // 32
    numbers[::2] %= 8
    numbers[::2, :2] = torch.randint(2**20, 2**21, (N // 2, 2), generator=generator) * 2
    numbers[::2, 0] += 1
    numbers[::2, 2] = -numbers[::2, :2].sum(1)
    numbers = numbers[:, torch.randperm(32, generator=generator)]
    high = (numbers + _LOW // 2) // _LOW
    W = torch.stack([numbers - high * _LOW, high], 1).flatten(1)
    x = torch.tensor([1.0, _LOW]).repeat_interleave(32) * _UNITS[:, None]
    label = f"M = {len(x)}, N = {N}, K = 64, numbers of 17 and 23 bits in units of 2^-24 to 8"
    return cases.PlainCase(label, W.half(), x.half(), True)


def _expected(case):
    right = reference.matmul(case.x, case.W)
    if case.is_exact:
        return right.half(), None
    return right, bounds.error_bound(case.x, case.W, torch.float16)


def _run(answer, case, device):
    kernel = load(_KERNEL, replace={_HOLE: answer}, time_limit=10.0)
    if device != "cpu":
        return run_watched(kernel, (case.x, case.W), device)
    report = kernel.inspect(case.x, case.W)
    report.raise_findings()
    _refuse_what_is_forbidden(report)
    return report.y


def _refuse_what_is_forbidden(report):
    """Raise CheckFailed for shared memory and barriers, of which this kernel has none itself."""
    shared = [line for line in report.lines if line.space == "shared"]
    barriers = [phase.place for phase in report.phases if phase.place]
    if shared or barriers:
        what = f"{shared[0].name} of shared memory" if shared else "__syncthreads()"
        place = shared[0].place if shared else barriers[0]
        raise CheckFailed(
            f"{_HOLE} uses {what} ({place}): write it with no shared memory and no "
            "__syncthreads(); __shfl_down_sync brings a lane the value of another"
        )


WARP_REDUCE_SUM = Exercise(
    name=_HOLE,
    lesson="gemv",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "32 numbers, five shuffles: after each, half as many lanes matter.",
        "In a shuffle every lane adds the value that a lane `offset` further up holds; "
        "__shfl_down_sync(FULL_WARP, value, offset) brings it.",
        "offset runs 16, 8, 4, 2, 1, and all 32 lanes must make every call.",
    ),
    cases=cache(_cases),
    fresh=_fresh,
    expected=_expected,
    run=_run,
)
