"""Exercises of int8_sums: dequant_dot with __dp4a, and an integer kernel with a bug to find."""

from functools import cache, partial

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases, dp4a_probe
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.integer_cases import integer_gemv, right_output

_HOLE = "dequant_dot"
_ROWS = 33
_SHORT_ROWS = 8
_FEWEST_ROWS = 6  # of the case whose calls are not looked into: another of 4 bits is
_BEGIN = f'#line 1 "{_HOLE}"\n'  # of the learner's text


def _cases(widths, short_widths):
    longest, *others = (_ragged_case(nbits, seed=0) for nbits in widths)
    shortest = integer_gemv(widths[0], _FEWEST_ROWS, 9, seed=1)
    return [longest, shortest, *others, *(_short_case(nbits, seed=2) for nbits in short_widths)]


def _fresh(widths, seed):
    """Other numbers in the shape of the first case, and each width without a case."""
    others = [nbits for nbits in range(1, 9) if nbits not in widths]
    makes = [partial(_ragged_case, widths[0]), *(partial(_short_case, nbits) for nbits in others)]
    return [case for make in makes for case in cases.fresh(make, seed)]


def _ragged_case(nbits, seed):
    return integer_gemv(nbits, _ROWS, 1000 if nbits <= 4 else 300, seed)


def _short_case(nbits, seed):
    """A case of one tile and a part of another."""
    return integer_gemv(nbits, _SHORT_ROWS, WarpInterleaved(nbits).tile + 9, seed)


def _kernel(name, answer, case):
    return load(name, case.nbits, replace={_HOLE: answer}, time_limit=10.0)


def _operands(case):
    return case.x, pack_warped_int32(case.W_q, case.nbits), case.scales, case.zeros


def _y_of_bug_1(answer, case, device):
    """y (M, N) as int64, which messages show as decimal numbers and not as words."""
    kernel = _kernel("gemv_a8wn_int32", answer, case)
    return run_watched(kernel, _operands(case), device).long()


def _y_from_dp4a(answer, case, device):
    """y (M, N) as int64. Raises CheckFailed if it is right and not made with __dp4a as asked."""
    kernel = _kernel("gemv_a8wn_dp4a", answer, case)
    if device != "cpu" or len(case.W_q) == _FEWEST_ROWS:
        return run_watched(kernel, _operands(case), device).long()
    kernel = kernel.with_changed_source(dp4a_probe.with_probes(_BEGIN))
    try:
        y = run_watched(kernel, _operands(case), device).long()
    except KernelTextError as error:
        raise KernelTextError(dp4a_probe.without_probes(str(error))) from None
    if torch.equal(y, right_output(case)):
        dp4a_probe.refuse_single_products(kernel, case)
    return y


def _exercise(name, widths, short_widths, run, hints):
    return Exercise(
        name=name,
        lesson="int8_sums",
        output="y",
        dtype=torch.int64,
        is_kernel=True,
        hints=hints,
        cases=cache(lambda: _cases(widths, short_widths)),
        fresh=partial(_fresh, widths + short_widths),
        expected=lambda case: (right_output(case), None),
        run=run,
    )


INTEGER_DOT_EXERCISES = (
    _exercise(
        "dequant_dot_dp4a",
        (4, 3, 8),  # with 8, 10 and 4 codes in a word
        (2, 6, 1, 5, 7),
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
        (8, 4),
        (3,),
        _y_of_bug_1,
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
