"""`refuse_what_differs_on_a_gpu`: words whose value is another one on a GPU than in the simulator.

Kernels may use them, and the rules of gemlite_edu/kernels/holes.py let them pass. But an answer
could tell by them that it is judged in the simulator, and none needs them.
"""

import re
from collections import Counter

from gemlite_edu.kernels.declarations import behind_angles, closing, declarations
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.holes import code_here
from gemlite_edu.kernels.tokens import NUMBER, STRING, WORD
from gemlite_lab.checker.approximate_functions import is_approximate

_CLOCKS = frozenset("clock clock64 __globaltimer __globaltimer_lo __globaltimer_hi".split())
_OF_A_COMPILER = re.compile(
    r"__(?:is|has|can|reference|underlying|builtin_is|builtin_types)_[a-z]\w*|__float80"
)
# What <type_traits> says of CUDA's vectors and halves, and of what contains or takes them.
_TRAITS = re.compile(
    r"(?:is|has)_(?:\w+_)?(?:trivial|trivially_copyable|pod|aggregate|standard_layout"
    r"|literal_type|empty|class|const|constructible|assignable|destructible|convertible|invocable|invocable_r|swappable"
    r"|swappable_with|unique_object_representations|polymorphic|abstract|union|scalar|object"
    r"|compound|fundamental|array)(?:_v)?|(?:result_of|invoke_result|is_detected)(?:_t|_v)?"
)
_LONG_DOUBLE = re.compile(r"(?i)(?=.*[.e])(?!0x)[\d.'](?:[\d.']|e[+-]?)*l|0x[\da-f.']*p[+-]?\d+l")
_AROUND_DOUBLE = frozenset("long double const volatile static constexpr inline unsigned".split())
_EXPRESSIONS = ("decltype", "sizeof", "noexcept", "alignof", "typeof", "__typeof__", "__typeof")
_NO_EXPRESSION = (["true"], ["false"], [])
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=", "-")


def refuse_what_differs_on_a_gpu(name, text):
    """Raise KernelTextError for an answer whose outcome may be another one on a GPU than here."""

    def refuse(line, what):
        raise KernelTextError(
            f"the text for {name} {what}: what comes of it may differ on a GPU, and an answer does "
            f"without (line {line})"
        )

    for code in code_here(name, text):
        for index, token in enumerate(code):
            _check_token(code, index, refuse)
            if token.text == "double":
                _check_double(code, index, refuse)
        _check_overloads(code, refuse)


def _check_token(code, index, refuse):
    token, after = code[index], code[index + 1].text if index + 1 < len(code) else ""
    before = code[index - 1] if index else None
    if token.text in _CLOCKS and (before is None or before.text not in (".", "->")):
        refuse(token.line, f"asks {token.text} for the time")
    if is_approximate(code, index):
        refuse(token.line, f"takes {token.text}, of whose result CUDA leaves the last bits open")
    is_trait = _TRAITS.fullmatch(token.text) and after == "<"
    if is_trait:
        refuse(token.line, f"asks for {token.text} of a type")
    if token.kind == WORD and _OF_A_COMPILER.fullmatch(token.text):
        refuse(token.line, f"asks the compiler for {token.text}")
    if token.kind == NUMBER and _LONG_DOUBLE.fullmatch(token.text):
        refuse(token.line, f"has a long double, {token.text}")
    if token.text == "noexcept" and after == "(":
        inside = [t.text for t in code[index + 2 : closing(code, index + 1)]]
        if inside not in _NO_EXPRESSION:
            refuse(token.line, f"asks for noexcept({' '.join(inside)})")
    if token.kind == STRING and (after in _COMPARISONS or (before and before.text in _COMPARISONS)):
        refuse(token.line, f"compares the address of {token.text}")


def _check_double(code, index, refuse):
    """Refuse the words long and double beside each other, in any order."""
    for step in (-1, 1):
        place = index + step
        while 0 <= place < len(code) and code[place].text in _AROUND_DOUBLE:
            if code[place].text == "long":
                refuse(code[index].line, "has a long double")
            place += step


def _check_overloads(code, refuse):
    """Refuse templates that exist only if an expression compiles, where another is in reserve."""
    names = Counter(d.name.text for d in declarations(code) if d.kind == "function")
    names += Counter(
        behind.text
        for word, behind in zip(code, code[1:], strict=False)
        if word.text in ("struct", "class", "union") and behind.kind == WORD
    )
    if not any(count > 1 for count in names.values()):
        return
    for index, token in enumerate(code):
        if token.text == "template" and code[index + 1 : index + 2]:
            _check_head(code[index : _end_of_head(code, index)], refuse)


def _end_of_head(code, index):
    place = behind_angles(code, index + 1)
    while place < len(code) and code[place].text not in ("{", ";"):
        place += 1
    return place


def _check_head(head, refuse):
    for index, token in enumerate(head[:-1]):
        if token.text not in _EXPRESSIONS or head[index + 1].text != "(":
            continue
        inside = head[index + 2 : closing(head, index + 1)]
        if any(t.text in ("(", ".", "->", "::", "[", "{") for t in inside):
            refuse(token.line, f"has a template that asks by {token.text} whether code compiles")
