"""Mistakes in the dequant_dot of the planes: two pieces of a code, each in a plane of its own."""

import torch

from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import products, small_types, word_dots
from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.numbers_of_codes import number_mistakes
from gemlite_lab.checker.mistakes.packing import tiled
from gemlite_lab.checker.mistakes.sums_apart import (
    code_without_x,
    zero_once_a_word,
    zero_without_x,
)

_CODES = 32  # of a lane
_MIDDLE = 4
_FROM_THE_LOW_END = "read from the least significant bits up"
_AT_THE_TOP = "the first code is at the top of both planes"


def parts_of(case):
    codes = tiled(case.W_q, _CODES)
    return {
        **products.right_parts(torch.ones(codes.shape[1:]).double()),
        "low": codes & 3,
        "high": codes >> 2,
        "code": lambda low, high: 4 * high | low,
        "staged": word_dots.staged(case.x, _CODES * WARP_SIZE),
        "place": word_dots.right_place(_CODES),
        "zeros": case.zeros.double().view(-1, 1, 1, 1),
        "scales": case.scales.double(),
        "dtype": case.x.dtype,
    }


def output(parts):
    codes = parts["code"](parts["low"], parts["high"]).double()
    weights = parts["value"](codes, parts["zero"](parts["zeros"]))
    sums = parts["add"](word_dots.met(parts), weights * parts["counted"])
    return word_dots.as_y(sums * parts["scales"].T, parts["dtype"])


def mistakes_of(case):
    counted = torch.ones(-(-case.x.shape[1] // (_CODES * WARP_SIZE)), _CODES, WARP_SIZE).double()
    is_in_a_word = torch.arange(_CODES).view(-1, 1) < 10
    only_10 = "only 10 codes are used, as many as 32 bits hold; a lane has 32 in its planes"
    return [
        *_joining_mistakes(),
        *_mask_mistakes(),
        *_place_mistakes(),
        *products.value_mistakes(_MIDDLE),
        *number_mistakes(_MIDDLE),
        *products.signed_zero_mistakes(),
        products.rounded_to_even(),
        *products.rounding_mistakes(),
        *products.bfloat16_mistakes(),
        *small_types.cut_sums(),
        *products.clamp_mistakes(),
        zero_without_x(),
        code_without_x(),
        *zero_once_a_word(),
        *small_types.late_x_mistakes(),
        *products.x_mistakes(),
        products.lost_subnormals(),
        *products.type_mistakes(case.x.dtype),
        *products.count_mistakes(counted),
        *products.mistakes_of_counts(counted, {only_10: is_in_a_word}),
        *word_dots.place_mistakes(_CODES),
    ]


def _joining_mistakes():
    """Mistakes in what the two pieces make of a code."""
    return _of_codes(
        {
            "the high bit is not moved up before | joins it: it is worth 4":
                lambda low, high: high | low,
            "the low bits are moved up by two, and the high bit is not: it is worth 4":
                lambda low, high: 4 * low + high,
            "every code counts as 0, as where & is to join the two pieces: | joins them":
                lambda low, high: 0 * low,
            "the high bit is sign-extended, so that it counts as -4: it is 0 or 1":
                lambda low, high: low - 4 * high,
            "the high bits are left out, so that codes 4 to 7 count as 0 to 3":
                lambda low, high: low,
            "the low bits are left out": lambda low, high: 4 * high,
        }
    )  # fmt: skip


def _mask_mistakes():
    """Mistakes in how many bits are taken of a plane, whose next bits are those of codes before."""
    return _of_codes(
        {
            "the mask of the low plane keeps one bit of two": lambda low, high: low & 1 | 4 * high,
            "the mask of the low plane is 2, a single bit: two ones are 3":
                lambda low, high: low & 2 | 4 * high,
            "the mask of the low plane keeps three bits, one of them of the code before":
                lambda low, high: 4 * (_before(low) & 1) | low | 4 * high,
            "the mask of the high plane keeps two bits, one of them of the code before":
                lambda low, high: 4 * (2 * _before(high) + high) | low,
            "the high bit is masked by 4 before it is moved up, which takes that of two codes "
            "before": lambda low, high: 4 * _before(_before(high)) | low,
        }
    )  # fmt: skip


def _place_mistakes():
    """Mistakes in the place of a piece in its plane."""
    twice = torch.arange(_CODES) // 2
    return _of_codes(
        {
            f"both planes are {_FROM_THE_LOW_END}":
                lambda low, high: 4 * high.flip(2) | low.flip(2),
            f"the low plane is {_FROM_THE_LOW_END}; {_AT_THE_TOP}":
                lambda low, high: 4 * high | low.flip(2),
            f"the high plane is {_FROM_THE_LOW_END}; {_AT_THE_TOP}":
                lambda low, high: 4 * high.flip(2) | low,
            "two codes share a high bit: each has one of its own":
                lambda low, high: 4 * high[:, :, twice] | low,
        }
    )  # fmt: skip


def _of_codes(codes):
    return [Mistake(words, {"code": code}) for words, code in codes.items()]


def _before(pieces):
    """The piece of the code before, and 0 for the first code."""
    return torch.nn.functional.pad(pieces, (0, 0, 1, 0))[:, :, :-1]


PLANE_DOT = Model(parts_of, mistakes_of, output, ("low", "high", "zeros", "scales"))
