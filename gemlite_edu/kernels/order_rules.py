"""What C++ leaves open and two compilers decide otherwise: which argument is computed first.

g++, which compiles for the simulator, begins with the last argument, and nvcc with the first.
"""

from gemlite_edu.kernels.declarations import closing
from gemlite_edu.kernels.tokens import WORD

_NO_CALLS = frozenset("if for while switch catch sizeof alignof decltype".split())


def check_order(code, refuse):
    """Refuse two arguments of one call that are computed by functions which change something."""
    changing = _changing_lambdas(code) | _changing_functions(code)
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


def _changing_lambdas(code):
    """Names of lambdas that take variables by reference or change their own."""
    found = set()
    for index in range(len(code) - 2):
        name, sign, bracket = code[index : index + 3]
        if name.kind != WORD or sign.text != "=" or bracket.text != "[":
            continue
        end = closing(code, index + 2)
        captured = [token.text for token in code[index + 3 : end]]
        if "&" in captured or "mutable" in _head(code, end + 1):
            found.add(name.text)
    return found


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
