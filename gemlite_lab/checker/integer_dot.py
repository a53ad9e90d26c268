"""Exercises of notebook 06: dequant_dot with __dp4a, and an integer kernel with a bug to find."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.runners.load import load
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import CheckFailed, Exercise, run_watched, tensors_of
from gemlite_lab.checker.integer_cases import (
    integer_gemv,
    right_output,
)

_HOLE = "dequant_dot"
_BEGIN = f'#line 1 "{_HOLE}"\n'  # of the learner's text
_CALLED = "called_dp4a"
_LIED_TO = 33  # the output whose warp gets wrong results of __dp4a
# Each call stores to shared memory, where the simulator's report counts the stores. Products with
# four ones add up x alone, which an answer may do as it likes: they are right in every warp.
_COUNTING_CALLS = f"""
template <typename A, typename B, typename C>
__device__ auto counted_dp4a(A a, B b, C c) -> decltype(__dp4a(a, b, c)) {{
  __shared__ char {_CALLED}[1024];
  {_CALLED}[threadIdx.x] = 1;
  const bool is_lied_to = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32 == {_LIED_TO};
  const bool adds_up_x = a == 0x01010101 || b == 0x01010101;
  return is_lied_to && !adds_up_x ? 0 : __dp4a(a, b, c);
}}
#define __dp4a counted_dp4a
"""


def _cases(widths):
    found = []
    for nbits in widths:
        found += [_ragged_case(nbits, seed=0), integer_gemv(nbits, 6, 9, seed=1)]
    return found


def _fresh(widths, seed):
    """Other numbers in the shape of the first case, and a width of which there is no case."""
    others = [nbits for nbits in range(1, 9) if nbits not in widths]
    makes = (
        partial(_ragged_case, widths[0]),
        partial(integer_gemv, others[seed % len(others)], 6, 99),
    )
    return [case for make in makes for case in cases.fresh(make, seed)]


def _ragged_case(nbits, seed):
    return integer_gemv(nbits, 33, 1000 if nbits <= 4 else 300, seed)


def _kernel(name, answer, case):
    return load(name, case.nbits, replace={_HOLE: answer}, time_limit=10.0)


def _operands(case):
    return case.x, pack_warped_int32(case.W_q, case.nbits), case.scales, case.zeros


def _y_of_bug_1(answer, case, device):
    """y (M, N) as int64, which messages show as decimal numbers and not as words."""
    kernel = _kernel("gemv_a8wn_int32", answer, case)
    return run_watched(kernel, _operands(case), device).long()


def _y_from_dp4a(answer, case, device):
    """y (M, N) as int64. On the CPU the calls of __dp4a are counted.

    Where N is `_LIED_TO`, W gets its row 0 once more at the end, and __dp4a is wrong there.
    """
    name = "gemv_a8wn_dp4a"
    if device != "cpu":
        return run_watched(_kernel(name, answer, case), _operands(case), device).long()
    N = len(case.W_q)
    operands = _operands(_with_row_0_again(case) if N == _LIED_TO else case)
    kernel = _kernel(name, answer, case).with_changed_source(_with_counted_calls)
    try:
        report = kernel.inspect(*operands)
    except KernelTextError as error:
        raise KernelTextError(str(error).replace("counted_dp4a", "__dp4a")) from None
    report.raise_findings()
    y, lied = report.y.long().split([N, len(operands[1]) - N], 1)
    calls = sum(line.lanes for line in report.lines if line.name == _CALLED)
    words = len(case.x) * operands[1].numel()
    fewest = words * -(-(32 // case.nbits) // 4)
    is_used = not lied.numel() or not torch.equal(lied, y[:, :1])
    if not (calls >= fewest and is_used) and torch.equal(y, right_output(case)):
        raise CheckFailed(
            f"dequant_dot_dp4a has the right numbers on {case.label}, but multiplies one by one: "
            "take four products at a time with __dp4a(four_x, four_codes, sum)"
        )
    return y


def _with_row_0_again(case):
    again = {name: torch.cat([t, t[:1]]) for name, t in tensors_of(case).items() if name != "x"}
    return replace(case, **again)


def _with_counted_calls(source):
    return source.replace(_BEGIN, _COUNTING_CALLS + _BEGIN)


def _exercise(name, widths, run, hints):
    return Exercise(
        name=name,
        notebook="06_accumulators",
        output="y",
        dtype=torch.int64,
        is_kernel=True,
        hints=hints,
        cases=cache(lambda: _cases(widths)),
        fresh=partial(_fresh, widths),
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
        (8, 4, 3),
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
