"""Exercises of notebook 06: dequant_dot with __dp4a, and an integer kernel with a bug to find."""

import re
from functools import cache, partial

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import CheckFailed, Exercise, run_watched
from gemlite_lab.checker.integer_cases import (
    integer_gemv,
    right_output,
)

_HOLE = "dequant_dot"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _cases(widths):
    found = []
    for nbits in widths:
        found += [_ragged_case(nbits, seed=0), integer_gemv(nbits, 6, 9, seed=1)]
    return found


def _ragged_case(nbits, seed):
    return integer_gemv(nbits, 33, 1000 if nbits <= 4 else 300, seed)


def _y(kernel, answer, case, device):
    """y (M, N) as int64, which messages show as decimal numbers and not as words."""
    kernel = load(kernel, case.nbits, replace={_HOLE: answer}, time_limit=10.0)
    W_packed = pack_warped_int32(case.W_q, case.nbits)
    return run_watched(kernel, (case.x, W_packed, case.scales, case.zeros), device).long()


def _y_from_dp4a(answer, case, device):
    y = _y("gemv_a8wn_dp4a", answer, case, device)
    uses_dp4a = re.search(r"__dp4a\s*\(", _COMMENT.sub("", answer))
    if not uses_dp4a and torch.equal(y, right_output(case)):
        raise CheckFailed(
            f"dequant_dot_dp4a has the right numbers on {case.label}, but multiplies one by one: "
            "take four products at a time with __dp4a(four_x, four_codes, sum)"
        )
    return y


def _exercise(name, widths, run, hints):
    return Exercise(
        name=name,
        notebook="06_accumulators",
        output="y",
        dtype=torch.int64,
        is_kernel=True,
        hints=hints,
        cases=cache(lambda: _cases(widths)),
        fresh=lambda seed: cases.fresh(partial(_ragged_case, widths[0]), seed),
        expected=lambda case: (right_output(case), None),
        run=run,
    )


INTEGER_DOT_EXERCISES = (
    _exercise(
        "dequant_dot_dp4a",
        (4, 2, 8, 3, 6),
        _y_from_dp4a,
        hints=(
            "Take four codes out of the word first, and put them into the four bytes of one "
            "32-bit number. Then do the same with the four x that they meet.",
            "A byte of x that is negative has ones in all bits above it once it is an int. Cut "
            "them off before you shift it. And what does a signed byte make of the code 200?",
            "Keep zero out of the bytes: add up the x as well, with __dp4a again, and take the "
            "zero times that sum away at the end. Of 8-bit codes, 128 must go before and come "
            "back with the same sum. Does your loop end where a word has 10 codes, or 5?",
        ),
    ),
    _exercise(
        "bug_1",
        (8, 4, 2),
        lambda answer, case, device: _y("gemv_a8wn_int32", answer, case, device),
        hints=(
            "It is right with 4 bits, and with 8 bits if the zero is 128. Which numbers does the "
            "loop meet with 8 bits and zero 140, and not with the others?",
            "Write down the smallest and the largest value of each variable for 8 bits, with the "
            "zero 0 and with the zero 255. Which of them does its type not hold?",
            "A signed byte ends at -128 and 127; 0 - 140 becomes 116 in it. Give that variable a "
            "type that holds -255 to 255.",
        ),
    ),
)
