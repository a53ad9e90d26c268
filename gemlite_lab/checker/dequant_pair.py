"""Exercise of ladder_instructions: write dequant_pair, the hole of gemv_a16wn_fast, for 4 bits."""

from functools import cache, partial

import torch

from gemlite_lab.checker import pair_cases
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.grouped_cases import real_grouped

_NAME = "dequant_pair"
# No code of the first case has its highest bit set. So whatever bits stay in beside a code, an
# exponent has a 0 among its bits, and y is a number.
_END_OF_FIRST_CODES = 8
_OFFSET = 64  # the kernel's own text leaves it on the codes, and an answer may do so


@cache
def _cases():
    return [
        pair_cases.weights_themselves(_END_OF_FIRST_CODES),
        pair_cases.exact(group_size=32, K=96),
        pair_cases.of_telling_words(),
        pair_cases.of_a_full_block(),
        pair_cases.extreme(group_size=128, K=384),
        real_grouped(N=40, tokens=2),
    ]


def _fresh(seed):
    return pair_cases.exact(group_size=32, K=96, seed=seed)


DEQUANT_PAIR = Exercise(
    name=_NAME,
    lesson="ladder_instructions",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "Write down the 16 bits of 1024, of 1025 and of 1039 as halves. Where is the 15 of 1039? "
        "Now field 0 of both halves of `pairs`: which bits have to be cleared, and which set?",
        "Shift the pairs down by 4 f, clear all but the lowest four bits of each half, and set the "
        "exponent of 1024, 0x6400, in each: both halves read 1024 + code. One subtraction is left. "
        "Halves up to 2048 have all whole numbers, so it is exact.",
        "and_or(pairs >> 4 * f, MASK, MAGIC), where both have the same 16 bits twice, and "
        "__hsub2(a, b) with __float2half2_rn(1024.0f). To save a shift, leave a field that begins "
        "at bit 4 there: it reads 1024 + 16 code, and __hfma2(a, b, c), a * b + c, with 1/16 makes "
        "it 64 + code, less 64. Beyond bit 9 a half has its exponent: fields 2 and 3 come down.",
    ),
    cases=_cases,
    fresh=partial(fresh, _fresh),
    expected=partial(pair_cases.expected, value_of=torch.Tensor.double, offset=_OFFSET),
    run=partial(pair_cases.run, _NAME),
)
