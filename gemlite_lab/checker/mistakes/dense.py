"""Mistakes in products in which an answer finds its way: codes, x and groups at each k.

Parts: `codes` (N, k), `x_at` and `codes_at` (the k that each k takes), scales and zeros (N, groups)
and the group of each k, and `counted`.
"""

from dataclasses import replace

import torch

from gemlite_lab.checker.mistakes import products
from gemlite_lab.checker.mistakes.model import Mistake, Model

_COUNTS_OF_GROUPS = *range(8, 129, 8), 10, 12, 20, 100, 160, 192, 200, 255, 256


def right_parts(codes, x, scales, zeros, group, counted, dtype):
    """codes (N, K), x (M, K), scales and zeros (N, groups), group (K,), counted of K elements."""
    k = torch.arange(codes.shape[1])
    return {
        **products.right_parts(counted.double()),
        "value": lambda code, zero, scale: (code - zero) * scale,
        "codes": codes.double(),
        "x_given": x.double(),
        "x_at": k,
        "codes_at": k,
        "scales": scales.double(),
        "zeros": zeros.double(),
        "scale_group": group,
        "zero_group": group,
        "dtype": dtype,
    }


def output(parts):
    codes = parts["codes"][:, parts["codes_at"]]
    zeros = parts["zero"](parts["zeros"][:, parts["zero_group"]])
    weights = parts["value"](codes, zeros, parts["scales"][:, parts["scale_group"]])
    x = parts["x"](parts["x_given"][:, parts["x_at"]])
    sums = parts["add"](x, weights * parts["counted"].flatten())
    return sums.to(parts["dtype"]).double()


def mistakes(nbits, counted, axes, right_group, wrong_groups, wrong_places):
    """All mistakes.

    right_group: the group of each k.
    axes: (name, whole) of each axis of `counted`, as in "the first {name} of {whole}".
    wrong_places: {mistake in words: the k that each k takes}, for x and for the codes.
    """
    places = [
        mistake
        for words, place in wrong_places.items()
        for mistake in (
            Mistake(f"{words} (for x and for the codes)", {"x_at": place, "codes_at": place}),
            Mistake(f"{words} (for x alone)", {"x_at": place}),
            Mistake(f"{words} (for the codes alone)", {"codes_at": place}),
        )
    ]
    return [
        *products.group_mistakes(wrong_groups),
        *too_few_groups(right_group),
        *products.scale_mistakes(),
        products.skipped_zeros(),
        *products.then_scaled(products.value_mistakes(2 ** (nbits - 1))),
        *code_mistakes(nbits),
        *products.x_mistakes(),
        *places,
        *products.counts_of(counted, axes),
    ]


def code_mistakes(nbits):
    half = 2 ** (nbits - 1)
    codes = {
        "the codes are sign-extended; they are unsigned": lambda c: c - 2 * half * (c >= half),
        "the mask is one bit short, so that the highest bit of each code is lost":
            lambda c: c % half,
        "the middle code is added to the codes": lambda c: c + half,
    }  # fmt: skip
    return _of_codes(codes)


def too_few_groups(group):
    """Mistakes in which the groups are numbered anew behind so many of them."""
    groups = {
        f"groups from {count} on are taken for earlier ones": group % count
        for count in _COUNTS_OF_GROUPS
        if count <= group.max()
    }
    return [replace(mistake, is_alone=True) for mistake in products.group_mistakes(groups)]


def byte_mistakes():
    """Mistakes in codes that fill a byte."""
    codes = {
        "only the lower 4 bits of a code are taken; it has 8": lambda c: c % 16,
        "only the lower 7 bits of a code are taken; it has 8": lambda c: c % 128,
        "codes of 128 and more are taken as negative ones": lambda c: c - 256 * (c >= 128),
    }
    return _of_codes(codes)


def _of_codes(codes):
    return [
        Mistake(words, {"value": lambda c, z, s, how=how: (how(c) - z) * s})
        for words, how in codes.items()
    ]


def existing(groups, right, last):
    """Those of {words: group} that exist and differ from the right ones."""
    inside = {words: group.flatten().clamp(0, last) for words, group in groups.items()}
    return {words: group for words, group in inside.items() if not torch.equal(group, right)}


BY_ROW = ("codes", "scales", "zeros")


def model(parts, mistakes_of):
    return Model(parts, mistakes_of, output, BY_ROW)
