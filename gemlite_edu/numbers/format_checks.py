"""Checks of the levels and the texts of a `Format`; each refusal is one sentence."""

import numbers
from collections.abc import Iterable, Mapping

import torch

_LARGEST_LEVEL = torch.finfo(torch.float32).max


def checked_levels(levels: Iterable[float] | torch.Tensor, nbits: int) -> tuple[float, ...]:
    """`levels` as a tuple of 2**nbits floats."""
    if isinstance(levels, dict | set | frozenset):
        came = type(levels).__name__
        raise TypeError(f"levels must be in the order of the codes, as in a tuple, got a {came}")
    if isinstance(levels, torch.Tensor):
        levels = levels.tolist()
    try:
        levels = tuple(levels)
    except TypeError:
        came = type(levels).__name__
        raise TypeError(f"levels must be a tuple of 2**nbits numbers, got {came}") from None
    for level in levels:
        if not isinstance(level, numbers.Real):
            raise TypeError(f"levels must be numbers, got {level!r:.40} among them")
    if len(levels) != 2**nbits:
        raise ValueError(
            f"levels must be {2**nbits} numbers, one for each code of {nbits} bits, "
            f"got {len(levels)}: choose another nbits, or repeat a level to fill the table"
        )
    broken = [level for level in levels if not abs(level) <= _LARGEST_LEVEL]
    if broken:
        raise ValueError(f"levels must be finite and fit in float32, got {broken[0]} among them")
    if not any(levels):
        raise ValueError("levels are all 0, so no scale reaches a weight: give another number")
    return tuple(map(float, levels))


def checked_texts(
    texts: Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...] | None:
    """`texts`, a dict or pairs, as sorted pairs (hole name, text)."""
    try:
        texts = dict(texts)
    except (TypeError, ValueError):
        raise TypeError(f"texts must be a dict {{hole name: text}}, got {texts!r:.40}") from None
    for name, text in texts.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"texts must map names to texts, got {name!r:.40}: {text!r:.40}")
        if not name.isidentifier() or not text.strip():
            raise ValueError(f"texts must have names of holes and no empty text, got {name!r:.40}")
    return tuple(sorted(texts.items())) or None
