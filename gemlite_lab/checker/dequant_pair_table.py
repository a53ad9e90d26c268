"""Exercise of ladder_instructions: write dequant_pair for indices into a table of levels."""

import re
from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers.formats import NF4
from gemlite_lab.checker import pair_cases
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exercise import CheckFailed, Exercise

_NAME = "dequant_pair_table"
_LEVELS = torch.tensor(NF4.levels).half().double()


@cache
def _cases():
    return [
        pair_cases.weights_themselves(16),
        _without_zeros(pair_cases.exact(group_size=32, K=96)),
        _without_zeros(pair_cases.of_a_full_block()),
        _without_zeros(pair_cases.extreme(group_size=128, K=384)),
        pair_cases.real_in_table(_LEVELS),
    ]


# Around the answer it makes the largest half of -0, which a sum of products would hide.
_WITH_SIGNS_OF_ZERO = """
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 given_by_answer = dequant_pair_of_the_answer(pairs, f);
  const ushort bits_of_low = __half_as_ushort(__low2half(given_by_answer));
  const ushort bits_of_high = __half_as_ushort(__high2half(given_by_answer));
  return __halves2half2(__ushort_as_half(bits_of_low == 0x8000 ? 0x7BFF : bits_of_low),
                        __ushort_as_half(bits_of_high == 0x8000 ? 0x7BFF : bits_of_high));
}
"""
_LARGEST_HALF = 65504


def _run(answer, case, device):
    y = pair_cases.run(_NAME, answer, case, device)
    if case.label != _cases()[0].label or not torch.equal(y, _expected(case)[0]):
        return y
    answer = re.sub(r"\bdequant_pair\b", "dequant_pair_of_the_answer", answer)
    shown = pair_cases.run(_NAME, answer + _WITH_SIGNS_OF_ZERO, case, device)
    if (shown == _LARGEST_HALF).any():
        raise CheckFailed(
            f"{_NAME} is wrong on {case.label}: a half that dequant_pair gave is 0x8000, which is "
            "-0; the level has the bits 0x0000"
        )
    return y


_expected = partial(pair_cases.expected, value_of=_LEVELS.__getitem__)


def _without_zeros(case):
    return replace(case, zeros=0 * case.zeros)


def _fresh(seed):
    return _without_zeros(pair_cases.exact(group_size=32, K=96, seed=seed))


DEQUANT_PAIR_TABLE = Exercise(
    name=_NAME,
    lesson="ladder_instructions",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "First the two codes as whole numbers: field f of the lower half, and of the upper half. "
        "Which shift and which mask give each of them?",
        "A code is an index into LEVELS, and what stands there are the 16 bits of a half already. "
        "Two of them beside each other are the 32 bits of a half2: nothing is converted.",
        "as_half2(low | high << 16), where low and high are LEVELS at the two codes. Shift the "
        "pairs down by 4 f once: one code is then at bit 0, the other at bit 16, and each needs a "
        "mask of four bits.",
    ),
    cases=_cases,
    fresh=partial(fresh, _fresh),
    expected=_expected,
    run=_run,
)
