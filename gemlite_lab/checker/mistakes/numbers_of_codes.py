"""Mistakes in the number code - zero of a code: rounded, kept in a range, skipped, or of a sign.

`value` gets the codes (N, tiles, fields, lanes) of all words, first code first.
"""

import torch

from gemlite_lab.checker.mistakes.model import Mistake


def number_mistakes(middle):
    """The mistakes that changing a code's number makes. middle: the middle code."""
    top = 2 * middle - 1
    values = {
        "code minus zero-point is put in an integer, which cuts off its fraction":
            lambda code, zero: (code - zero).trunc(),
        "code minus zero-point is rounded to half precision":
            lambda code, zero: (code - zero).half().double(),
        "the zero-point is rounded to half precision, and code minus zero-point again":
            lambda code, zero: (code - zero.half().double()).half().double(),
        "code minus zero-point is rounded to bfloat16":
            lambda code, zero: (code - zero).bfloat16().double(),
        "code minus zero-point is put in a signed byte, which ends at -128 and 127":
            lambda code, zero: (code - zero).trunc().to(torch.int64).to(torch.int8).double(),
        "code 0 is skipped, but it stands for 0 - zero":
            lambda code, zero: (code - zero) * (code != 0),
        "the loop ends where the rest of the word is 0, but each code 0 there stands for 0 - zero":
            lambda code, zero: (code - zero) * (_sums_from_each_on(code) > 0),
        "the loop ends where the word has only zeros left above, but each code 0 there stands for "
        "0 - zero": lambda code, zero: (code - zero) * (code.cumsum(2) > 0),
        "the word is signed where % takes a code off, and a negative word leaves negative codes":
            lambda code, zero: _remainders(code, middle) - zero,
    }  # fmt: skip
    zeros = {
        "a negative zero-point counts as 0": lambda zero: zero.clamp(min=0),
        "a zero-point above the highest code counts as that code": lambda zero: zero.clamp(max=top),
        "the zero-point is kept between 0 and the highest code": lambda zero: zero.clamp(0, top),
        "the zero-point is rounded to half precision": lambda zero: zero.half().double(),
        "the zero-point is rounded to bfloat16": lambda zero: zero.bfloat16().double(),
    }
    return [
        *(Mistake(words, {"value": value}, is_alone=True) for words, value in values.items()),
        *(Mistake(words, {"zero": zero}, is_alone=True) for words, zero in zeros.items()),
    ]


def _sums_from_each_on(code):
    return code.flip(2).cumsum(2).flip(2)


def _remainders(code, middle):
    is_negative = (code[:, :, :1] >= middle) & (code != 0)
    return torch.where(is_negative, code - 2 * middle, code)
