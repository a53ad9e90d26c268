"""`is_same_for_all`: whether all threads of a block find the same truth of a condition."""

import re

_GIVEN = {"M", "N", "K", "p", "blockIdx", "blockDim", "gridDim", "true", "false"}
_FUNCTIONS = {"ceil_div", "min", "max"}
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")
_DECLARED = re.compile(r"\b(?:int|unsigned|bool|auto|size_t|u?int32_t)\s+(\w+)\s*=([^=;][^;]*)")


def is_same_for_all(condition, lines):
    """True if each name in `condition` is of the launch, or made of such names in `lines`.

    False does not say that threads differ: only plain declarations are followed.
    """
    made_of = dict(found.groups() for line in lines for found in _DECLARED.finditer(line))
    return _is_same(condition, made_of, frozenset())


def _is_same(text, made_of, followed):
    names = set(_NAME.findall(text)) - _GIVEN - _FUNCTIONS
    return "[" not in text and all(
        _MACRO.fullmatch(name)
        or name in followed
        or (name in made_of and _is_same(made_of[name], made_of, followed | {name}))
        for name in names
    )
