"""Exercise of notebook 09: dequant_pair for codes that stand for the levels of a table."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers.formats import NF4
from gemlite_lab.checker import pair_cases
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.pair_mistakes import WRONG_CODES, mistakes_of, right_codes

_NAME = "dequant_pair_table"
_HALVES = torch.tensor(NF4).half()
_LEVELS = _HALVES.double()
_WITH_64 = (_HALVES + 64).double()
_BITS = _HALVES.view(torch.int16).long() & 0xFFFF


@cache
def _cases():
    without_zeros = (
        pair_cases.exact(group_size=32, K=96),
        pair_cases.exact(group_size=256, K=512, M=1),
        pair_cases.extreme(group_size=128, K=384),
    )
    return [
        pair_cases.weights_themselves(16),
        *(replace(case, zeros=0 * case.zeros) for case in without_zeros),
        pair_cases.real_in_table(_LEVELS),
    ]


def _in(levels):
    """Codes to their levels in another table."""
    return lambda codes: levels[codes]


def _from_bits(bits):
    """The table whose halves have these bits."""
    return _in(bits.to(torch.int16).view(torch.float16).double())


_WRONG_VALUES = {
    # not the table
    "the codes themselves are given, not their levels": lambda codes: codes.double(),
    "8 is taken off the codes, as if they were evenly spaced": lambda codes: codes - 8.0,
    "the codes are taken as evenly spaced from -1 to 1": (
        lambda codes: (codes * 2 / 15 - 1).half().double()
    ),
    "the signs of the levels are lost": _in(_LEVELS.abs()),
    "the sign of every level is the other one": _in(-_LEVELS),
    "codes 0 to 7 are given the levels of 15 to 8 with a minus: they are no mirror image": _in(
        torch.cat([-_LEVELS[8:].flip(0), _LEVELS[8:]])
    ),
    # what offset_of says: the kernel takes it off
    "64 stays on the levels, and offset_of says 0: nothing takes it off": _in(_WITH_64),
    "offset_of says 64, and no 64 is on the levels: it is taken off them all the same": _in(
        _LEVELS - 64
    ),
    "offset_of says -1, which is level 0: it is taken off every level": _in(_LEVELS + 1),
    "64 is put on the levels, which rounds them to steps of 1/16, and taken off again": _in(
        _WITH_64 - 64
    ),
    # which place of it
    "the table is read one place too far, from its second level on": _in(_LEVELS.roll(-1)),
    "the table is read one place too early": _in(_LEVELS.roll(1)),
    "the table is read backwards": _in(_LEVELS.flip(0)),
    "codes 0 to 7 are given the levels of 8 to 15, and the other way round": (
        lambda codes: _LEVELS[codes ^ 8]
    ),
    "all codes are looked up among the upper eight levels": lambda codes: _LEVELS[codes | 8],
    "the bits of the codes are read in reverse order": (
        lambda codes: _LEVELS[codes >> 3 | codes >> 1 & 2 | codes << 1 & 4 | codes << 3 & 8]
    ),
    "0 is left out of the table, so that it ends early": _in(
        torch.cat([_LEVELS[:7], _LEVELS[8:], torch.zeros(1)])
    ),
    # which bits of a level
    "the levels are kept in integers, which cuts off their fractions": _in(_LEVELS.trunc()),
    "the bits of a level are taken for a whole number": (
        lambda codes: _BITS[codes].double().half().double()
    ),
    "only the upper byte of a level is set": _from_bits(_BITS & 0xFF00),
    "only the lower byte of a level is set": _from_bits(_BITS & 0xFF),
    "the two bytes of a level are swapped": _from_bits(_BITS >> 8 | _BITS << 8 & 0xFF00),
    "the levels are those of bfloat16, the upper half of a float's bits": _from_bits(
        torch.tensor(NF4).bfloat16().view(torch.int16)
    ),
    "the levels have two digits behind the point": _in(
        _LEVELS.mul(100).round().div(100).half().double()
    ),
}


def _levels_of(codes_of, value_of):
    return lambda pairs, f: value_of(codes_of(pairs, f))


def _first_half_alone(first_of):
    """A second half of 0, and a first with the bits that first_of makes of both levels."""

    def decode(pairs, f):
        low, high = _BITS[right_codes(pairs, f)].unbind(-1)
        first = first_of(low, high).to(torch.int16).view(torch.float16).double()
        return torch.stack([first, 0 * first], -1)

    return decode


_WRONG_HALVES = {
    "the second level is not shifted up by 16: both come into the first half": _first_half_alone(
        lambda low, high: low | high
    ),
    "nothing is put into the second half": _first_half_alone(lambda low, high: low),
}


DEQUANT_PAIR_TABLE = Exercise(
    name=_NAME,
    notebook="09_to_the_memory_limit",
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
    expected=partial(pair_cases.expected, value_of=_in(_LEVELS)),
    run=partial(pair_cases.run, _NAME),
    mistakes=mistakes_of(
        {name: _levels_of(codes_of, _in(_LEVELS)) for name, codes_of in WRONG_CODES.items()}
        | {name: _levels_of(right_codes, value_of) for name, value_of in _WRONG_VALUES.items()}
        | _WRONG_HALVES
    ),
)
