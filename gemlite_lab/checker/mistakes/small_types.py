"""Mistakes in the type that an x, a scale, a weight or a sum goes through."""

import torch

from gemlite_lab.checker.mistakes.model import Mistake
from gemlite_lab.checker.mistakes.products import adding


def late_x_mistakes():
    """Mistakes in x that only some of its numbers show."""
    xs = {
        "the loop ends at an x of 0, but the codes behind it meet an x of their own":
            lambda x: x * (x != 0).cumprod(2),
        "x is rounded to bfloat16": _bfloat16,
        "x is cut to bfloat16, which drops its last bits": _cut_to_bfloat16,
    }  # fmt: skip
    return [Mistake(words, {"x": how}, is_alone=True) for words, how in xs.items()]


def scale_types():
    """Mistakes in the type that the scale or the weight goes through."""
    half, cut = _half, _bfloat16
    values = {
        "the scale is rounded to half precision": lambda c, z, scale: (c - z) * half(scale),
        "the scale is rounded to bfloat16": lambda c, z, scale: (c - z) * cut(scale),
        "the weight is rounded to half precision": lambda c, z, scale: half((c - z) * scale),
        "the weight is rounded to bfloat16": lambda c, z, scale: cut((c - z) * scale),
    }
    return [Mistake(words, {"value": how}, is_alone=True) for words, how in values.items()]


def bfloat16_numbers():
    """Mistakes in which numbers of a weight become bfloat16.

    Triton's interpreter cuts off the bits that a GPU rounds.
    """
    cut = _cut_to_bfloat16
    values = {
        "the scale is": lambda c, z, scale: (c - z) * cut(scale),
        "the zero-point is": lambda c, z, scale: (c - cut(z)) * scale,
        "scale and zero-point are": lambda c, z, scale: (c - cut(z)) * cut(scale),
        "code minus zero-point is": lambda c, z, scale: cut(c - z) * scale,
        "the weight is": lambda c, z, scale: cut((c - z) * scale),
    }
    return [
        Mistake(f"{what} made bfloat16, which has eight bits", {"value": how}, is_alone=True)
        for what, how in values.items()
    ]


def cut_sums():
    """Mistakes in a sum whose last bits are cut off, as by a mask."""
    types = {"TF32, which has 10 bits behind the point": 13, "bfloat16, which has 7": 16}
    return [
        Mistake(f"the sum of each word is cut to {name}", {"add": _cutting(bits)}, is_alone=True)
        for name, bits in types.items()
    ]


def _cutting(bits):
    """How an answer adds up that cuts the lowest `bits` bits off the float sum of a word."""

    def cut(sums):
        return (sums.float().view(torch.int32) >> bits << bits).view(torch.float32).double()

    return adding(of_word=cut)


def half2_mistakes():
    words = "the products of even and of odd codes are added up in the two halves of a half2"
    own = "code minus zero-point and its product with x are rounded to half precision"
    rounded = {"value": lambda c, z: _half(c - z), "add": adding(of_product=_half)}
    return [
        Mistake(words, {"add": _in_a_half2}, is_alone=True),
        Mistake(own, rounded, is_alone=True),
    ]


def _in_a_half2(x, weights):
    """Each half takes a product and the sum so far, and rounds once."""
    halves = (adding(of_sum=_half)(x[:, :, odd::2], _half(weights)[:, :, odd::2]) for odd in (0, 1))
    return sum(halves)


def _half(numbers):
    return numbers.half().double()


def _cut_to_bfloat16(numbers):
    return (numbers.float().view(torch.int32) >> 16 << 16).view(torch.float32).double()


def _bfloat16(numbers):
    return numbers.bfloat16().double()
