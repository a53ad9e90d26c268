"""Mistakes in a sum of codes times x and a sum of zero-points times x that are kept apart.

There a weight is a complex number: what belongs to the code, and the zero-point as imaginary part.
"""

from functools import partial

from gemlite_lab.checker.mistakes.model import Mistake


def scaled_code_without_x():
    """scale * code - zero * x, where the code never meets its x."""

    def add(x, weights):
        of_codes = weights.real.flatten(1).sum(1)
        return of_codes - x.flatten(1) @ weights.imag.flatten(1).T

    return Mistake(
        "parentheses are missing: x multiplies the zero-point alone, not code - zero",
        {"value": lambda code, zero, scale: code * scale + 1j * zero, "add": add},
        is_alone=True,
    )


def zero_without_x(
    words="parentheses are missing: x multiplies the code alone, not code - zero, or zero is taken "
    "away without its x",
    value_of=lambda code, zero: code,
):
    """code * x - zero, where the zero-point never meets an x; then the scale.

    value_of(code, zero): the number that x multiplies.
    """

    def add(x, weights):
        of_zeros = weights.imag.expand_as(weights.real).flatten(1).sum(1)
        return x.flatten(1) @ weights.real.flatten(1).T - of_zeros

    return Mistake(
        words,
        {"value": lambda code, zero: value_of(code, zero) + 1j * zero, "add": add},
        is_alone=True,
    )


def zero_once_a_word():
    """Mistakes in which the zero-point counts once for each word, not once for each code."""

    def add(x, weights, of_zeros):
        of_codes = x.flatten(1) @ weights.real.flatten(1).T
        return of_codes - of_zeros(x[:, :, 0], weights.imag[:, :, 0])

    counts = {
        "the zero-point is subtracted once per word instead of once per code":
            lambda first_x, zeros: zeros.flatten(1).sum(1),
        "the zero-point multiplies the first x of each word alone; it belongs to every code":
            lambda first_x, zeros: first_x.flatten(1) @ zeros.flatten(1).T,
    }  # fmt: skip
    return [
        Mistake(
            words,
            {
                "value": lambda code, zero: code + 1j * zero,
                "add": partial(add, of_zeros=of_zeros),
            },
            is_alone=True,
        )
        for words, of_zeros in counts.items()
    ]


def zero_once_a_group(together):
    """scale * code * x - zero, where the zero-point is taken away once from so many codes' sum."""

    def add(x, weights):
        of_zeros = weights.imag[:, :, ::together].flatten(1).sum(1)
        return x.flatten(1) @ weights.real.flatten(1).T - of_zeros

    return Mistake(
        "the zero-point is taken away once from the sum of a group's codes, without scale and x",
        {"value": lambda code, zero, scale: code * scale + 1j * zero, "add": add},
        is_alone=True,
    )


def code_without_x():
    """code - zero * x, where the code never meets its x; then the scale."""
    scaled = scaled_code_without_x()
    value = scaled.parts["value"]
    return Mistake(
        scaled.words,
        {"value": lambda code, zero: value(code, zero, 1.0), "add": scaled.parts["add"]},
        is_alone=True,
    )


def two_readings_of_x(words, beside_codes=lambda x: x, in_their_sum=lambda x: x):
    """What the codes multiply and what the zero-point multiplies are not the same x.

    beside_codes, in_their_sum: x (M, tiles, fields, lanes), as an answer takes it there.
    """

    def add(x, weights):
        of_codes = beside_codes(x).flatten(1) @ weights.real.flatten(1).T
        return of_codes - in_their_sum(x).flatten(1) @ weights.imag.flatten(1).T

    return Mistake(words, {"value": lambda code, zero: code + 1j * zero, "add": add}, is_alone=True)


def sum_of_x(words, rounded):
    """The sum of the x of a word, by which the zero-point is multiplied, held in a small type."""

    def add(x, weights):
        zeros = weights.imag[:, :, 0]
        of_zeros = rounded(x.sum(2)).flatten(1) @ zeros.flatten(1).T
        return x.flatten(1) @ weights.real.flatten(1).T - of_zeros

    return Mistake(words, {"value": lambda code, zero: code + 1j * zero, "add": add}, is_alone=True)
