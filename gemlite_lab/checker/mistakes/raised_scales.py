"""Mistakes in which a scale is kept above a smallest number, or loses its sign."""

from functools import partial

import torch

from gemlite_lab.checker.mistakes.model import Mistake


def raised_scales():
    """{mistake in words: what it makes of a scale}; a scale may be of any size and sign."""
    floors = {
        f"a scale below {floor:g} is raised to it": partial(torch.clamp, min=floor)
        for floor in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
    }
    return {
        "a negative scale counts as 0": partial(torch.clamp, min=0),
        "the scale loses its sign, and a scale may be negative": torch.abs,
        **floors,
    }


def raised_scale_mistakes():
    """`raised_scales` in the formula (code - zero) * scale."""
    values = {
        words: lambda code, zero, scale, raised=raised: (code - zero) * raised(scale)
        for words, raised in raised_scales().items()
    }
    return [Mistake(words, {"value": value}, is_alone=True) for words, value in values.items()]
