"""Mistakes in what a 4-bit code stands for: two's complement, NF4, FP4; and integers."""

from dataclasses import replace
from functools import partial

import torch

from gemlite_edu.numbers.formats import FP4_E2M1, NF4
from gemlite_lab.checker.mistakes import products, word_dots
from gemlite_lab.checker.mistakes.levels import wrong_levels
from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.sums_apart import (
    sum_of_x,
    two_readings_of_x,
    zero_without_x,
)


def _looked_up(table):
    """The value of a code in a table of 16 numbers."""
    values = torch.tensor(table, dtype=torch.float64)

    def value(code, zero):
        return values[code.long().clamp(0, 15)].where((code >= 0) & (code < 16), torch.nan)

    return value


def _of_table(table, wrong):
    """The `Model` of a format. wrong: {mistake in words: another table, or a function}."""

    def parts(case):
        return word_dots.parts_of(case) | {"value": _looked_up(table)}

    def mistakes(case):
        values = {words: v if callable(v) else _looked_up(v) for words, v in wrong.items()}
        return [
            *(Mistake(words, {"value": value}) for words, value in values.items()),
            *_formula_mistakes(_looked_up(table)),
            zero_without_x(_ZERO_OF_A_SUM, _looked_up(table)),
            *word_dots.mistakes_of_any_format(case),
            *products.rounding_mistakes(),
        ]

    fitted = partial(wrong_levels, torch.tensor(table, dtype=torch.float64))
    return Model(parts, mistakes, word_dots.output, word_dots.BY_ROW, fitted=fitted)


_ZERO_OF_A_SUM = "zero is subtracted from the sum of each word; this format has no zero-point"


def _formula_mistakes(value):
    values = {
        "the codes themselves are used, not the numbers they stand for": lambda c, z: c,
        "the codes are decoded as linear ones, code - zero": lambda c, z: c - z,
        "zero is subtracted, but this format has no zero-point": lambda c, z: value(c, z) - z,
        "zero is added, but this format has no zero-point": lambda c, z: value(c, z) + z,
        "8 is subtracted from the codes": lambda c, z: c - 8,
        "the sign of every value is lost": lambda c, z: value(c, z).abs(),
        "the sign of every value is the other one": lambda c, z: -value(c, z),
        "every value is twice too large": lambda c, z: 2 * value(c, z),
        "every value is half of what it should be": lambda c, z: value(c, z) / 2,
        "the values are put in integers, which cuts off their fractions":
            lambda c, z: value(c, z).trunc(),
        "the values are put in half precision": lambda c, z: value(c, z).half().double(),
    }  # fmt: skip
    return [Mistake(words, {"value": how}) for words, how in values.items()]


def _table_mistakes(table):
    first = list(table)
    return {
        "the table is read backwards": first[::-1],
        "the two halves of the table are exchanged": first[8:] + first[:8],
        "the table is read one place too far": [*first[1:], first[0]],
        "the table is read one place too early": [first[-1], *first[:-1]],
        "the table goes from the smallest to the largest value": sorted(first),
    }  # fmt: skip


_SIGNED = [*range(8), *range(-8, 0)]
_SIGNED_MISTAKES = {
    "the codes are taken as unsigned, 0 to 15": list(range(16)),
    "15 is subtracted from codes 8 to 15; it is 16": [*range(8), *range(-7, 1)],
    "8 is subtracted from codes 8 to 15; it is 16": [*range(8), *range(8)],
    "17 is subtracted from codes 8 to 15; it is 16": [*range(8), *range(-9, -1)],
    "32 is subtracted from codes 8 to 15; it is 16": [*range(8), *range(-24, -16)],
    "code 8 stays 8; it stands for -8": [*range(9), *range(-7, 0)],
    "code 7 becomes -9; codes 8 to 15 are negative": [*range(7), *range(-9, 0)],
    "the top bit is taken as a sign beside a 3-bit magnitude": [*range(8), *(-i for i in range(8))],
    "the sign bits are set in an unsigned byte, so that codes 8 to 15 count as 248 to 255": [
        *range(8),
        *range(248, 256),
    ],
    "16 is subtracted from all codes": list(range(-16, 0)),
    "16 is subtracted from codes 0 to 7, not from 8 to 15": [*range(-16, -8), *range(8, 16)],
}
_FP4 = list(FP4_E2M1.levels)
_MAGNITUDES = _FP4[:8]
_FP4_MISTAKES = {
    **_table_mistakes(_FP4),
    "the codes are taken as two's complement": _SIGNED,
    "the sign is read off bit 0, as code & 8 == 8 does: in C, == comes before &": [
        (-1) ** (c & 1) * _MAGNITUDES[c & 7] for c in range(16)
    ],
    "the negative half of the table begins at -0.5; code 8 is -0, and code 15 is -6": [
        *_MAGNITUDES, *(-v for v in [*_MAGNITUDES[1:], 8])
    ],
    "the sign is the lowest bit instead of the highest": [
        (-1) ** (c & 1) * _MAGNITUDES[c >> 1] for c in range(16)
    ],
    "codes 9 to 15 stand for -6 to -0.5, as in two's complement; code 9 is -0.5": [
        *_MAGNITUDES, *(-v for v in [0, *_MAGNITUDES[:0:-1]])
    ],
    "the negative half of the table is mirrored; code 9 is -0.5, code 15 is -6": [
        *_MAGNITUDES, *(-v for v in _MAGNITUDES[::-1])
    ],
    "the three bits below the sign are taken as an integer": [*range(8), *(-i for i in range(8))],
    "the magnitudes are half of that integer, 0 to 3.5": [
        *(i / 2 for i in range(8)), *(-i / 2 for i in range(8))
    ],
    **{
        words: [sign * _e2m1(c) for sign in (1, -1) for c in range(8)]
        for words, _e2m1 in {
            "exponent 0 is given a hidden one; it has none: codes 0 and 1 are 0 and 0.5":
                lambda c: (1 + c % 2 / 2) * 2.0 ** (c // 2 - 1),
            "no exponent is given a hidden one; only exponent 0 has none":
                lambda c: (c % 2 / 2) * 2.0 ** (max(c // 2, 1) - 1),
            "the bias of the exponent is forgotten; it is 1":
                lambda c: (1 + c % 2 / 2) * 2.0 ** (c // 2) if c > 1 else c * 0.5,
            "the exponent is one too large: its bias is 1":
                lambda c: _MAGNITUDES[c] * 2,
            "the exponent is one too small: its bias is 1":
                lambda c: (1 + c % 2 / 2) * 2.0 ** (c // 2 - 2) if c > 1 else c * 0.5,
            "exponent and mantissa are swapped: the bits are sign, exponent, exponent, mantissa":
                lambda c: (1 + c % 4 / 4) * 2.0 ** (c // 4 - 1) if c // 4 else c % 4 / 4,
            "the mantissa is ignored, or lost in m / 2 of integers, which is 0":
                lambda c: 2.0 ** (c // 2 - 1) if c > 1 else 0.0,
            "m / 2 divides integers, so that the mantissa counts only where the exponent is 0":
                lambda c: 2.0 ** (c // 2 - 1) if c > 1 else c * 0.5,
            "the mantissa bit counts 1, not 1/2":
                lambda c: (1 + c % 2) * 2.0 ** (c // 2 - 1) if c > 1 else c * 1.0,
            "code 1 is 0, without the subnormal 0.5": lambda c: _MAGNITUDES[c] if c > 1 else 0.0,
            "the subnormal code 1 is 0.25; it is 0.5": lambda c: _MAGNITUDES[c] if c > 1 else c / 4,
            "the subnormal code 1 is 1; it is 0.5": lambda c: _MAGNITUDES[c] if c > 1 else c * 1.0,
            "the largest magnitude is 5; it is 6": lambda c: 5.0 if c == 7 else _MAGNITUDES[c],
            "the largest magnitude is 8; it is 6": lambda c: 8.0 if c == 7 else _MAGNITUDES[c],
        }.items()
    },
}  # fmt: skip
_NF4_MISTAKES = {
    **_table_mistakes(NF4.levels),
    "the codes are taken as evenly spaced from -1 to 1": [c * 2 / 15 - 1 for c in range(16)],
    "the codes are taken as -8 to 7, divided by 8": [c / 8 - 1 for c in range(16)],
    "the codes are taken as FP4": _FP4,
    "0 is left out of the table, so that it ends early": [*(v for v in NF4.levels if v), 0.0],
    "the table is mirrored: code c stands for the negative of what code 15 - c stands for": [
        -v for v in NF4.levels[::-1]
    ],
    "the negative levels are the positive ones with a minus; NF4 is not symmetric": [
        *(-v for v in NF4.levels[:7:-1]),
        *NF4.levels[8:],
    ],
    "the positive levels are the negative ones without the minus; NF4 is not symmetric": [
        *NF4.levels[:8],
        *(-v for v in NF4.levels[7::-1]),
    ],
    **{
        f"the levels of codes {c} and {c + 1} are exchanged": [
            NF4.levels[{c: c + 1, c + 1: c}.get(i, i)] for i in range(16)
        ]
        for c in range(15)
    },
    "the levels have the precision of bfloat16": torch.tensor(NF4.levels).bfloat16().tolist(),
    "the levels are rounded to three digits behind the point": [round(v, 3) for v in NF4.levels],
    "the levels are rounded to four digits behind the point": [round(v, 4) for v in NF4.levels],
    "the levels are rounded to five digits behind the point": [round(v, 5) for v in NF4.levels],
}
SIGNED = _of_table(_SIGNED, _SIGNED_MISTAKES)
FP4_DOT = _of_table(_FP4, _FP4_MISTAKES)
NF4_DOT = _of_table(list(NF4.levels), _NF4_MISTAKES)


def _byte(numbers):
    return (numbers + 128) % 256 - 128


def _integer_mistakes(case):
    half = 2 ** (case.nbits - 1)
    values = {
        "code - zero is put in a signed byte, which ends at 127": lambda c, z: _byte(c - z),
        "code - zero is put in an unsigned byte, which has no negative numbers":
            lambda c, z: (c - z) % 256,
        "code - zero is clamped to what a signed byte holds": lambda c, z: (c - z).clamp(-128, 127),
        "code - zero is clamped to -127 and 127": lambda c, z: (c - z).clamp(-127, 127),
        "code - zero is put in a signed byte and put right only where it is positive":
            lambda c, z: torch.where(c > z, c - z, _byte(c - z)),
        "code - zero is put in a signed byte and put right only where it is negative":
            lambda c, z: torch.where(c < z, c - z, _byte(c - z)),
        "of code - zero only the sign and 7 bits are kept":
            lambda c, z: (c - z).sign() * ((c - z).abs() % 128),
        "the size of code - zero is taken, without its sign": lambda c, z: (c - z).abs(),
        "code - zero is halved to fit in a byte, which drops its lowest bit":
            lambda c, z: ((c - z) / 2).trunc() * 2,
        "code - zero is halved and not doubled again": lambda c, z: ((c - z) / 2).trunc(),
        "the code is put in a signed byte: from 128 on it counts as negative":
            lambda c, z: _byte(c) - z,
        "the zero-point is put in a signed byte: from 128 on it counts as negative":
            lambda c, z: c - _byte(z),
        "128 times the sum of x is missing, as if 128 were taken from codes and not added back":
            lambda c, z: c - 128 - z,
        "an offset of 128 is taken from the codes and not added back, but taken off once more":
            lambda c, z: c - 256 - z,
    }  # fmt: skip
    adds = {
        "each product is put in a signed byte": products.adding(of_product=_byte),
        "each product is put in 16 bits": products.adding(of_product=_short),
        "the sum is held in 16 bits": products.adding(of_sum=_short),
        "the sum is held in a signed byte": products.adding(of_sum=_byte),
    }
    return [
        *(Mistake(words, {"value": value}) for words, value in values.items()),
        *(Mistake(words, {"add": how}) for words, how in adds.items()),
        *_offset_mistakes(case),
        *(_or_a_wrong_offset(mistake, case) for mistake in products.value_mistakes(half)),
        sum_of_x("the sum of the x of a word is put in a signed byte", _byte),
        two_readings_of_x(
            "codes and x are multiplied without sign, as __dp4a of uint32_t does: a negative x "
            "counts as 256 more",
            beside_codes=lambda x: x % 256,
        ),
        two_readings_of_x(
            "the fourth x of each four is left out of their sum", in_their_sum=_three_of_four
        ),
        Mistake("-x is put in a signed byte, which does not hold 128", {"x": lambda x: -_byte(-x)}),
        Mistake("an x of -128 counts as -127", {"x": lambda x: x.clamp(min=-127)}, is_alone=True),
        Mistake("the zero-point is clamped to 127", {"zero": lambda z: z.clamp(max=127)}),
        Mistake("x is unsigned: a negative x counts as 256 more", {"x": lambda x: x % 256}),
        *word_dots.mistakes_of_any_format(case),
    ]


def _offset_mistakes(case):
    """Mistakes in what comes back for the offset that 8-bit codes need, and shorter ones do not."""
    back = "comes back times the sum of x"
    if case.nbits < 8:
        added = {"128": 128, "2 to the power W_NBITS - 1": 2 ** (case.nbits - 1)}
        return [
            Mistake(
                f"{what} is not taken from these codes, but {back}",
                {"value": lambda c, z, by=by: c + by - z},
            )
            for what, by in added.items()
        ]

    def once_a_word(x, weights):
        return products.exact_sum(x, weights) + 128 * x[0, :, 0].numel()

    signed = {"value": lambda c, z: _byte(c) + 128 - z}
    once = {"value": lambda c, z: c - 128 - z, "add": once_a_word}
    return [
        Mistake(
            f"128 is not taken from the codes, so that those from 128 on are negative as signed "
            f"bytes, but {back}",
            signed,
        ),
        Mistake(
            "128 is added back once per word; it is 128 times the sum of x", once, is_alone=True
        ),
    ]


def _or_a_wrong_offset(mistake, case):
    """At 8 bits an offset of 127 in place of 128 gives the very output of this mistake."""
    if case.nbits < 8 or mistake.words != "the zero-point is one too large":
        return mistake
    return replace(mistake, words=f"{mistake.words}, or an offset of 127 is added back for 128")


def _three_of_four(x):
    return x * (torch.arange(x.shape[2]) % 4 < 3).view(-1, 1)


def _short(numbers):
    return (numbers + 2**15) % 2**16 - 2**15


INTEGER_DOT = Model(word_dots.parts_of, _integer_mistakes, word_dots.output, word_dots.BY_ROW)
