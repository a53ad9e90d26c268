"""Exercise of fused_dequant: write a whole fused GEMV, for 4 bits and one row of x."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.dequant_dot import expected
from gemlite_lab.checker.dequant_formats import linear
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.objections import object_to
from gemlite_lab.checker.precise_cases import fine_gemv, precise_gemv
from gemlite_lab.checker.random_cases import random_gemv
from gemlite_lab.checker.usual_sizes import usual_sizes
from gemlite_lab.lesson.one_row import one_row_kernel

_NAME = "fused_gemv"
_NBITS = 4
_LONG_K = 66_300  # no 16 bits count its codes, nor 8 bits the words of a lane: 259, an odd number
_WARPS = 32  # of a block
_EVERY = 97  # one k of so many meets an x in a long row, so that y stays small


class _RareCase(cases.GemvCase):
    """A `GemvCase` on which a mistake may give another output than its model, or than in half."""

    is_telling = False


@cache
def _cases():
    return [
        one_row_case(33, 1000, seed=0),
        one_row_case(33, 1000, seed=4),
        one_row_case(3, 20, seed=1),
        one_row_case(70, 512, seed=2),
        _of_both_signs(_with_fractions(one_row_case(33, 300, seed=3))),
        _sparse_x(5, _LONG_K, seed=0),
        _rows(precise_gemv(_NBITS, 33, 500, seed=1), [0, 3]),
        _rows(fine_gemv(_NBITS, seed=2), [3, 6, 7]),
        _rows(random_gemv(_NBITS), [0, 4, 7]),
        cases.real_gemv(_NBITS, tokens=1),
        cases.of_many_rows(_NBITS),
        _rare_scales(torch.float16, 2.0**9),
        _rare_scales(torch.bfloat16, 2.0**-118),
    ]


def one_row_case(N, K, seed):
    """An exact case with one row of x, which meets every k."""
    case = cases.exact_gemv(_NBITS, N, K, seed)
    x = case.x.float().sum(0, keepdim=True).half()
    label = f"{_NBITS}-bit, M = 1, N = {N}, K = {K}"
    return replace(case, label=label if seed < 4 else f"{label}, other numbers", x=x)


def _with_fractions(case):
    return replace(
        case, label=f"{case.label}, with fractions", x=case.x * 0.5, zeros=case.zeros + 0.5
    )


def _of_both_signs(case):
    """The case with every second scale and every third zero negative."""
    n = torch.arange(len(case.scales))[:, None]
    scales = case.scales * torch.where(n % 2 == 1, -1, 1)
    zeros = case.zeros * torch.where(n % 3 == 1, -1, 1)
    label = f"{case.label}, scales and zeros of both signs"
    return replace(case, label=label, scales=scales, zeros=zeros)


def _rare_scales(dtype, scale):
    """A case with scales of 0 and with y that lie halfway between two numbers of their type.

    Those of half lie beyond its largest number. With bfloat16 one scale is subnormal, and so small
    that float32 has its products with large x alone.
    """
    codes = torch.tensor([[15, 15, 1], [15, 15, 3], [0, 15, 10], [1, 0, 0], [15, 15, 5]])
    codes = codes.repeat(7, 1)  # so that a warp of several rows has each scale in each of them
    scales = torch.tensor([scale, scale, -scale, 0.0, min(scale, 2.0**-130)]).repeat(7)[:, None]
    W_q = torch.zeros(len(codes), 300, dtype=torch.uint8)
    x = torch.zeros(1, 300)
    met = torch.tensor([0, 33, 299])
    W_q[:, met] = codes.to(torch.uint8)
    x[:, met] = torch.tensor([1.0, 16.0, 2.0]) * (2.0**118 if dtype == torch.bfloat16 else 1)
    name = str(dtype).removeprefix("torch.")
    label = f"{_NBITS}-bit, M = 1, N = 35, K = 300, {name}, scales of 0 and y between two numbers"
    return _RareCase(label, _NBITS, W_q, scales, 0 * scales, x.to(dtype), True)


def _sparse_x(N, K, seed):
    """An exact case of any length, in which few k meet an x."""
    generator = torch.Generator().manual_seed(seed)
    W_q = torch.randint(0, 2**_NBITS, (N, K), dtype=torch.uint8, generator=generator)
    met = torch.arange(0, K, min(_EVERY, K // 8))
    x = torch.zeros(1, K)
    x[:, met] = torch.randint(1, 4, met.shape, generator=generator) * (-1.0) ** (met % 2)
    n = torch.arange(1.0, N + 1)[:, None]
    label = f"{_NBITS}-bit, M = 1, N = {N}, K = {K}"
    return cases.GemvCase(label, _NBITS, W_q, 2.0**-n, n + 2, x.half(), True)


def _rows(case, rows):
    """These rows of a case, which the kernel gets one at a time."""
    label = case.label.replace(f"M = {len(case.x)},", f"M = {len(rows)},")
    return replace(case, label=f"{label}, row after row", x=case.x[rows].contiguous())


def _fresh(seed):
    makes = [
        partial(one_row_case, 33, 1000),
        partial(_precise_row, rows=[seed % 4]),
        partial(_fine_row, rows=[seed % 8]),
    ]
    usual = [_sparse_x(N, K, seed) for N, K in usual_sizes(seed) if N < K]
    return [*(case for make in makes for case in cases.fresh(make, seed)), *usual]


def _precise_row(seed, rows):
    return _rows(precise_gemv(_NBITS, 9, 500, seed, torch.bfloat16), rows)


def _fine_row(seed, rows):
    return _rows(fine_gemv(_NBITS, seed, torch.bfloat16), rows)


def _run(answer, case, device):
    kernel = one_row_kernel(answer, case.nbits, case.x.dtype, time_limit=10.0)
    W_packed = pack_warped_int32(case.W_q, case.nbits)
    operands = W_packed, case.scales, case.zeros
    run = _inspected if device == "cpu" or case.x.shape[1] == _LONG_K else _on_a_gpu
    return torch.cat([run(kernel, (x, *operands)) for x in case.x.split(1)]).half()


def _on_a_gpu(kernel, operands):
    return run_watched(kernel, operands, "cuda")


def _inspected(kernel, operands):
    """y, after the simulator's findings; the long row is too long for some GPUs."""
    report = kernel.inspect(*operands)
    report.raise_findings()
    _refuse_x_of_every_warp(report, *operands[:2])
    return report.y


def _refuse_x_of_every_warp(report, x, W_packed):
    """Object if a block asks global memory for more than one x."""
    lines = report.of("x")
    blocks = -(-len(W_packed) // _WARPS)
    if sum(line.bytes_asked for line in lines) > blocks * x.nbytes:
        object_to(
            f"{_NAME} reads x from global memory more than once in each block ({lines[-1].place}): "
            "copy it to x_shared once, and let every warp read it there"
        )


FUSED_GEMV = Exercise(
    name=_NAME,
    lesson="fused_dequant",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "Begin with a kernel that is right for zeros = 0 and scales = 1: who copies x, which word "
        "does a lane load in a step, and which eight x do its codes meet?",
        "Three numbers are not those of 8 bits: how many codes a word has, how many a step has, "
        "and how long the row of x is with its padding. The rest of the kernel may stay.",
        "x is padded to ceil_div(K, 256) * 256. In each step a lane loads one word, and your loop "
        "over its fields adds to one float. The warp reduces that float once, behind all steps, "
        "and lane 0 multiplies it by the scale of its output.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=partial(expected, linear(_NAME, (_NBITS,))),
    run=_run,
)
