"""Expand the macros that a text defines in its own tokens."""

from typing import NamedTuple

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.host_words import is_of_the_host
from gemlite_edu.kernels.other_macros import RENAMED_HERE, is_another_macro
from gemlite_edu.kernels.tokens import NUMBER, SIGN, STRING, WORD, Token, tokens_of

_DEEPEST = 30
_MOST_STEPS = 200_000  # macros that double one another come to no end
_NO_STRINGS = RENAMED_HERE | {"warpSize", "assert"}


_NOTHING = Token(SIGN, "", 0)  # an empty argument beside ##


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
            if len(given) < len(names):
                body = _without_commas_of_nothing(body)
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
                is_pasted = "##" in beside
                found += values[token.text] or [_NOTHING] if is_pasted else expanded[token.text]
            else:
                found.append(token)
        for token in (t for part in [*given, *expanded.values()] for t in part):
            _check_given(token)
        return found


def macro_of(tokens):
    """The macro of a #define's tokens; its parameters begin at once behind its name."""
    body = tokens[1:]
    for token in body:
        if token.text == "__VA_OPT__":
            raise KernelTextError(
                f"the text uses __VA_OPT__ (line {token.line}), which C++17 does not have: write "
                "a macro for each number of arguments"
            )
    if not body or body[0].text != "(" or not body[0].is_glued:
        return _Macro(None, body)
    end = next((i for i, token in enumerate(body) if token.text == ")"), None)
    if end is None:
        return _Macro(None, body)
    inside = body[1:end]
    names = [token.text for token in inside if token.text != ","]
    if names[-1:] == ["..."] and inside[-2:-1] and inside[-2].kind == WORD:
        raise KernelTextError(
            f"the text names the rest of its arguments {names[-2]}... (line {inside[-1].line}): "
            "write ... and __VA_ARGS__, as C++ does"
        )
    return _Macro(names, body[end + 1 :])


def _without_commas_of_nothing(body):
    """The body of a call without its last argument, from which `, ##__VA_ARGS__` goes."""
    found = list(body)
    for index in reversed(range(len(body) - 2)):
        if [token.text for token in body[index : index + 3]] == [",", "##", "__VA_ARGS__"]:
            del found[index : index + 3]
    return found


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
            if "" in (found[-1].text, right.text):
                left = found.pop()
                found.append(left if right.text == "" else right)
                index += 1
            elif right.kind in (WORD, NUMBER) or found[-1].kind == SIGN:
                left = found.pop()
                _check_sides(left, right)
                pasted = tokens_of("", left.text + right.text)
                _check_pasted(pasted, token.line)
                found += _placed(pasted, token.line)
                index += 1
        else:
            found.append(token)
        index += 1
    return [token for token in found if token.text]


def _check_given(token):
    if is_another_macro(token.text):
        raise KernelTextError(
            f"the text gives {token.text} to a macro (line {token.line}), which is not the same "
            "here and on a GPU: write it outside of the macro's arguments"
        )


def _check_sides(left, right):
    for token in (left, right):
        if token.text in RENAMED_HERE or is_another_macro(token.text):
            raise KernelTextError(
                f"the text pastes {token.text} to another name (line {token.line}), which is not "
                "the same here and on a GPU"
            )


def _string_of(tokens, hash):
    """The string that # makes of an argument's tokens."""
    for token in tokens:
        if token.text.startswith("__") or token.text in _NO_STRINGS:
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
