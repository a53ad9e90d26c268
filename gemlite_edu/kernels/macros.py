"""Expand the macros that a text defines in its own tokens."""

from typing import NamedTuple

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.host_words import is_of_the_host
from gemlite_edu.kernels.tokens import NUMBER, SIGN, STRING, WORD, Token, tokens_of

_DEEPEST = 30
_MOST_STEPS = 200_000  # macros that double one another come to no end
_MACROS_HERE = ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "assert")


class _Macro(NamedTuple):
    parameters: list | None  # None: a macro without parentheses
    body: list


class Expander:
    """Expands `macros` {name: _Macro} in tokens, and does not go on for ever."""

    def __init__(self):
        self.macros = {}
        self._steps = self._depth = 0

    def expand(self, tokens):
        """The tokens with macros expanded; a macro is no macro in what comes of it."""
        if not self.macros:
            return tokens
        self._depth += 1
        self._steps += len(tokens)
        if self._depth > _DEEPEST:
            raise KernelTextError(f"the text calls macros in macros, more than {_DEEPEST} deep")
        found, waiting = [], [(token, frozenset()) for token in reversed(tokens)]
        while waiting:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise KernelTextError(f"the text's macros come to more than {_MOST_STEPS:,} words")
            token, busy = waiting.pop()
            is_free = token.kind == WORD and token.text not in busy
            macro = self.macros.get(token.text) if is_free else None
            is_called = macro and macro.parameters is not None
            if macro is None or (is_called and not (waiting and waiting[-1][0].text == "(")):
                found.append(token)
                continue
            body = _placed(macro.body, token.line)
            if is_called:
                body = self._with_arguments(body, macro.parameters, _arguments(waiting))
            waiting += [(part, busy | {token.text}) for part in reversed(_pasted(body))]
        self._depth -= 1
        return found

    def _with_arguments(self, body, names, given):
        values = dict(zip(names, given, strict=False))
        if names and names[-1] == "...":
            rest = [[*part, Token(SIGN, ",", 0)] for part in given[len(names) - 1 :]]
            values["__VA_ARGS__"] = [token for part in rest for token in part][:-1]
        found, expanded = [], {}
        for index, token in enumerate(body):
            beside = {body[i].text for i in (index - 1, index + 1) if 0 <= i < len(body)}
            if token.text == "#" and index + 1 < len(body) and body[index + 1].text in values:
                found.append(_string_of(values[body[index + 1].text], token))
            elif token.text in values and index and body[index - 1].text == "#":
                continue
            elif token.text in values:
                if "##" not in beside and token.text not in expanded:
                    expanded[token.text] = self.expand(values[token.text])
                found += values[token.text] if "##" in beside else expanded[token.text]
            else:
                found.append(token)
        return found


def macro_of(tokens):
    """The macro of a #define's tokens.

    A space before the parenthesis matters, and is gone: a body may begin with a list."""
    body = tokens[1:]
    if not body or body[0].text != "(":
        return _Macro(None, body)
    end = next((i for i, token in enumerate(body) if token.text == ")"), None)
    inside = body[1:end]
    names = [token.text for token in inside if token.text != ","]
    is_list = all(t.text == "," if i % 2 else _is_name(t) for i, t in enumerate(inside))
    return _Macro(names, body[end + 1 :]) if end and is_list else _Macro(None, body)


def _is_name(token):
    return token.kind == WORD or token.text == "..."


def _placed(tokens, line):
    return [token._replace(line=line) for token in tokens]


def _arguments(waiting):
    """The arguments of a call, taken with its parentheses from the end of `waiting`."""
    found, depth = [[]], 0
    while waiting:
        token, _ = waiting.pop()
        depth += (token.text in "([{") - (token.text in ")]}") if token.kind == SIGN else 0
        if depth == 0:
            break
        if token.text == "," and depth == 1:
            found.append([])
        elif not (token.text == "(" and depth == 1):
            found[-1].append(token)
    return found


def _pasted(tokens):
    """The tokens with the two sides of each ## as one."""
    found, index = [], 0
    while index < len(tokens):
        token = tokens[index]
        if token.text == "##" and found and index + 1 < len(tokens):
            right = tokens[index + 1]
            if right.kind in (WORD, NUMBER) or found[-1].kind == SIGN:
                left = found.pop()
                pasted = tokens_of("", left.text + right.text)
                _check_pasted(pasted, token.line)
                found += _placed(pasted, token.line)
                index += 1
        else:
            found.append(token)
        index += 1
    return found


def _string_of(tokens, hash):
    """The string that # makes of an argument's tokens."""
    for token in tokens:
        if token.text.startswith("__") or token.text in _MACROS_HERE:
            raise KernelTextError(
                f"the text makes a string of {token.text} (line {hash.line}), which is not the "
                "same here and on a GPU: write the string itself"
            )
    return hash._replace(kind=STRING, text=f'"{" ".join(token.text for token in tokens)}"')


def _check_pasted(tokens, line):
    for token in tokens:
        if is_of_the_host(token.text):
            raise KernelTextError(
                f"the text pastes {token.text} together (line {line}), which is not the same here "
                "and on a GPU"
            )
