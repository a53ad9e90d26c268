"""What C++ leaves open and two compilers decide otherwise: which argument is computed first.

g++, which compiles for the simulator, begins with the last argument, and nvcc with the first.
"""

from itertools import pairwise

from gemlite_edu.kernels.declarations import closing
from gemlite_edu.kernels.tokens import WORD

_NO_CALLS = frozenset("if for while switch catch sizeof alignof decltype".split())
_ASSIGNING = frozenset("+= -= *= /= %= &= |= ^=".split())
_ASSIGNING_PAIRS = frozenset((("+", "+"), ("-", "-"), (">", ">=")))  # each of two tokens
_NO_TYPES = frozenset("return else do case".split())


def check_order(code, refuse):
    """Refuse two arguments of one call that are computed by functions which change something."""
    functions = _changing_functions(code)
    changing = functions | _changing_lambdas(code, functions)
    for index, token in enumerate(code):
        if not _is_call(code, index):
            continue
        found = [_called(argument, changing) for argument in _listed(code, index + 1)]
        names = sorted(set().union(*found))
        if sum(map(bool, found)) > 1:
            refuse(
                token.line,
                f"computes two arguments of {token.text} by {' and '.join(names)}, which may "
                "change what the other reads, and C++ leaves open which comes first: nvcc begins "
                "with the first, g++ with the last; give each a variable before the call",
            )


def _is_call(code, index):
    following = code[index + 1].text if index + 1 < len(code) else ""
    return code[index].kind == WORD and following == "(" and code[index].text not in _NO_CALLS


def _listed(code, index):
    """The tokens of each argument in the parentheses that open at `index`."""
    found, depth = [[]], 0
    for token in code[index + 1 : closing(code, index)]:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _called(tokens, names):
    return {t.text for i, t in enumerate(tokens) if t.text in names and _is_call(tokens, i)}


def _changing_lambdas(code, functions):
    """Names of lambdas that change their own variables, or others that they take by reference.

    functions: names of those that change something, which a lambda must not call either.
    """
    found = set()
    for index in range(len(code) - 2):
        name, sign, bracket = code[index : index + 3]
        if name.kind != WORD or sign.text != "=" or bracket.text != "[":
            continue
        end = closing(code, index + 2)
        captured = [token.text for token in code[index + 3 : end]]
        changes = "&" in captured and _changes(_body(code, end + 1), functions | found)
        if changes or "mutable" in _head(code, end + 1):
            found.add(name.text)
    return found


def _body(code, index):
    """The tokens of the first braces from `index` on."""
    opening = index + len(_head(code, index))
    return code[opening + 1 : closing(code, opening)] if opening < len(code) else []


def _changes(body, functions):
    """True if something is assigned there, but in a declaration, or a function may do it."""
    return any(
        token.text in _ASSIGNING
        or token.text in functions
        or token.text.startswith("atomic")
        or (token.text == "=" and not _declares(body, index))
        for index, token in enumerate(body)
    ) or any(
        (one.text, other.text) in _ASSIGNING_PAIRS and other.is_glued
        for one, other in pairwise(body)
    )


def _declares(code, index):
    """True if the = at `index` gives a new variable its first value, as in `int n = 0`."""
    before = code[max(0, index - 2) : index]
    words = [token.text for token in before if token.kind == WORD]
    return len(words) == 2 and words[0] not in _NO_TYPES


def _head(code, index):
    """The words from `index` to the brace that opens a body."""
    words = [token.text for token in code[index:]]
    return words[: words.index("{")] if "{" in words else words


def _changing_functions(code):
    """Names of the functions defined here with a parameter through which they may change things."""
    found = set()
    for index, token in enumerate(code):
        if not _is_call(code, index):
            continue
        end = closing(code, index + 1)
        if end + 1 < len(code) and code[end + 1].text == "{":
            parameters = [[t.text for t in tokens] for tokens in _listed(code, index + 1)]
            if any(map(_may_change, parameters)):
                found.add(token.text)
    return found


def _may_change(words):
    """True for a reference or pointer to what is not const, and for a reference to a pointer."""
    return {"&", "*"} <= {*words} or bool({"&", "*"} & {*words} and "const" not in words)
