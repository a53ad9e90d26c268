"""Exercises that write dequant_dot, the hole of gemv_a16wn_fp32, for several formats."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import bounds, reference
from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases
from gemlite_lab.checker.dequant_formats import FP4, NF4_TABLE, SIGNED, linear
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.precise_cases import fine_gemv, precise_gemv
from gemlite_lab.checker.random_cases import cancelling_gemv, random_gemv

_KERNEL = "gemv_a16wn_fp32"
_HOLE = "dequant_dot"


def _cases(format):
    found = [_exact_case(nbits, seed=0) for nbits in format.widths]
    if format.sums_are_exact:
        found.append(_fractional_case(format))
    else:
        found.append(cancelling_gemv(_values(format)))
    for nbits in format.widths:
        found += [_fine_case(format, nbits, seed=2), _precise_case(format, nbits, seed=1)]
    return [*found, _real_case(format), random_gemv(format.widths[0])]


def _exact_case(nbits, seed):
    return cases.exact_gemv(nbits, 33, _ragged(nbits), seed)


def _precise_case(format, nbits, seed, dtype=torch.float16, N=33):
    return precise_gemv(nbits, N, _ragged(nbits) // 2, seed, dtype, format.has_zeros)


def _fine_case(format, nbits, seed, dtype=torch.float16):
    return fine_gemv(nbits, seed, dtype, format.has_zeros)


def _fresh(format, seed):
    """Other numbers in the shape of the first case; another width with bfloat16 x."""
    first, *others = format.widths
    makes = [partial(_exact_case, first)]
    [nbits] = cases.drawn(others, 1, seed) or [first]
    makes.append(partial(_precise_case, format, nbits, dtype=torch.bfloat16, N=9))
    makes.append(partial(_fine_case, format, nbits, dtype=torch.bfloat16))
    return [case for make in makes for case in cases.fresh(make, seed)]


def _ragged(nbits):
    """A K that spans several tiles, the last of them not full."""
    return 2500 if nbits == 1 else 1000 if nbits <= 4 else 300


def _fractional_case(format):
    """A case, also exact, with fractions in x and zeros; sums inside a word need more than half.

    Two neighbouring codes of a word are equal and meet large x that almost cancel.
    """
    nbits = format.widths[0]
    N, tiles, pack_factor = 33, 2, 32 // nbits
    case = cases.exact_gemv(nbits, N, tiles * 32 * pack_factor, seed=3)
    pairs = case.W_q.reshape(N, tiles, pack_factor // 2, 2, 32)
    pairs[:, :, :, 1] = pairs[:, :, :, 0]
    x = case.x.reshape(-1, tiles, pack_factor // 2, 2, 32)
    large = torch.arange(x[:, :, :, 0].numel()).reshape(x[:, :, :, 0].shape) * 97 % 1024 + 1000
    x[:, :, :, 0] += large
    x[:, :, :, 1] -= large
    zeros = case.zeros + 0.5 if format.has_zeros else case.zeros
    return replace(case, label=f"{case.label}, with fractions", x=case.x * 0.5, zeros=zeros)


def _real_case(format):
    nbits = format.widths[0]
    if format.has_zeros:
        return cases.real_gemv(nbits)
    return cases.real_gemv_in_table(nbits, _values(format))


def _values(format):
    """The number that each code of a format without zero-points stands for, float64."""
    codes = torch.arange(2 ** format.widths[0], dtype=torch.float64)
    return format.decode(codes, torch.zeros(()))


def expected(format, case):
    """The right y of a case in this format, and its bound; None for an exact case."""
    W = format.decode(case.W_q.double(), case.zeros.double()) * case.scales.double()
    right = reference.matmul(case.x, W)
    if case.is_exact and format.sums_are_exact:
        return right.to(case.x.dtype).half(), None
    return right, bounds.error_bound(case.x, W, case.x.dtype)


def _run(answer, case, device):
    kernel = load(_KERNEL, case.nbits, case.x.dtype, {_HOLE: answer}, time_limit=10.0)
    W_packed = pack_warped_int32(case.W_q, case.nbits)
    return run_watched(kernel, (case.x, W_packed, case.scales, case.zeros), device).half()


_READING = "Write the four bits of a code as a number first, on paper, for codes 1, 9 and 15."
_HINTS = {
    _HOLE: (
        "Take one code out of the word first: which shift brings code 0 to the lowest bits?",
        "Each code is shifted right, masked, has `zero` subtracted, and meets one x.",
        "Code j is shifted by 32 - W_NBITS * (j + 1); its x is x[j * WARP_SIZE].",
    ),
    "dequant_dot_4bit": (
        "Write the word in hexadecimal: its eight digits are the eight codes. Which shift brings "
        "the first digit to the lowest place?",
        "From one code to the next, the shift falls by the width of a code. After the shift, the "
        "digits above have to go. Then the code less `zero` meets its x.",
        "The shifts are 28, 24 and so on to 0; the mask is 15; and the x of the eight codes are "
        "x[0], x[32], x[64] and so on.",
    ),
    "dequant_dot_nf4": (
        "The loop and the shifts stay; only what a code stands for changes.",
        "A code is now an index from 0 to 15 into a table of 16 floats.",
        "A `const float table[16] = {...}` may stand inside the function; `zero` is not used.",
    ),
    "dequant_dot_fp4": (
        _READING,
        "Eight magnitudes repeat with a sign: you need a table of eight and one bit.",
        "0, 0.5, 1, 1.5, 2, 3, 4, 6 are the magnitudes; bit 3 of the code is the sign.",
    ),
    "dequant_dot_signed": (
        _READING,
        "Two's complement in 4 bits: codes 8 to 15 stand for -8 to -1.",
        "Shift the code to the top of a signed 32-bit integer and back: >> keeps its sign.",
    ),
}

_LESSONS = {
    "dequant_dot_4bit": "fused_dequant",
    "dequant_dot": "one_kernel_every_width",
    "dequant_dot_fp4": "one_kernel_every_width",
}  # the lesson shows the answers of the others


def _exercise(format, more_cases=lambda: []):
    return Exercise(
        name=format.name,
        lesson=_LESSONS.get(format.name),
        output="y",
        dtype=torch.float16,
        is_kernel=True,
        hints=_HINTS.get(format.name, _HINTS[_HOLE]),
        cases=cache(lambda: [*_cases(format), *more_cases()]),
        fresh=partial(_fresh, format),
        expected=partial(expected, format),
        run=_run,
    )


def _many_blocks():
    return [cases.of_many_rows(), cases.of_many_tokens()]


DEQUANT_DOT_4BIT = _exercise(linear("dequant_dot_4bit", (4,)), _many_blocks)
DEQUANT_DOT_EXERCISES = tuple(
    _exercise(format)
    for format in (
        linear(_HOLE, (4, 2, 3, 8, 6, 5, 7, 1)),
        linear("dequant_dot_2bit", (2,)),
        SIGNED,
        NF4_TABLE,
        FP4,
    )
)
