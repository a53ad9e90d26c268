"""Functions of floats whose last bits CUDA leaves open, so that a GPU may give others than we do.

"CUDA C++ Programming Guide", appendix "Mathematical Functions", lists them with their errors. Those
by which an answer may take powers of two (pow, exp2, log2) are not here.
"""

import re

from gemlite_edu.kernels.tokens import WORD

_FAST = r"__(?:exp|exp10|log|log2|log10|sin|cos|tan|tanh|pow|sincos|fdivide)f|__fdividef"
_ROUNDED = (
    r"rsqrt|r?cbrt|r?hypot|r?norm[34]d|exp|exp10|expm1|log|log10|log1p|sin|cos|tan|sincos|"
    r"sinpi|cospi|sincospi|a?(?:sin|cos|tan)h?|atan2|erf|erfc|erfcx|erfinv|erfcinv|lgamma|tgamma|"
    r"normcdf|normcdfinv|cyl_bessel_i[01]"
)
_BESSEL = r"[jy][01n]"
_ALWAYS = re.compile(rf"{_FAST}|(?:{_ROUNDED}|{_BESSEL}|r?norm)f")
_UNLESS_A_VARIABLE = re.compile(rf"{_ROUNDED}|{_BESSEL}")  # people name variables exp and y0
_IN_A_LIST = re.compile(_BESSEL)  # int y0, y1;
_NO_TYPES = ("return", "else", "case", "throw", "and", "or", "not")


def is_approximate(code, index):
    """True if the token with this index names such a function, and no variable."""
    token = code[index]
    if token.kind != WORD or _is_member(code, index):
        return False
    if _ALWAYS.fullmatch(token.text):
        return True
    if not _UNLESS_A_VARIABLE.fullmatch(token.text):
        return False
    before = code[index - 1].text if index else ""
    is_called = _text_behind(code, index) == "(" and not _is_declared_at(code, index)
    return before == "::" or is_called or not _is_declared(code, token.text)


def _is_member(code, index):
    return bool(index) and code[index - 1].text in (".", "->")


def _is_declared(code, name):
    return any(token.text == name and _is_declared_at(code, i) for i, token in enumerate(code))


def _is_declared_at(code, index):
    before = code[index - 1] if index else code[index]
    behind = _text_behind(code, index)
    if before.kind == WORD:
        return before.text not in _NO_TYPES
    if before.text in (",", "*", "&") and behind in ("=", "["):
        return True
    is_in_a_list = before.text in (",", "[") and behind in (",", ";", "]")
    return is_in_a_list and bool(_IN_A_LIST.fullmatch(code[index].text))


def _text_behind(code, index):
    return code[index + 1].text if index + 1 < len(code) else ""
