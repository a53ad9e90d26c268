"""The code that is left of a text's tokens when its own macros are expanded.

Whether a condition holds depends on how the kernel is compiled, so there is one view of the text
for each branch: the first view has the first branch of every conditional, the second the second.
"""

from typing import NamedTuple

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.tokens import NEWLINE, NUMBER, SIGN, STRING, WORD, Token, tokens_of

_MOST_BRANCHES = 64
_DEEPEST = 30
_MOST_STEPS = 200_000  # macros that double one another come to no end


class Directive(NamedTuple):
    """A line that begins with #: its name ("" if it has none), and the tokens behind the name."""

    name: str
    tokens: list
    line: int


def lines_of(tokens):
    """The text as directives and lists of tokens between them, in order."""
    found, line = [], []
    for token in [*tokens, Token(NEWLINE, "\n", 0)]:
        if token.kind != NEWLINE:
            line.append(token)
            continue
        if line and line[0].text == "#":
            name = line[1].text if len(line) > 1 else ""
            found.append(Directive(name, line[2:], line[0].line))
        elif line:
            found.append(line)
        line = []
    return found


def without_lines_that_are_off(lines):
    """The lines but those behind `#if 0`, up to its #else or #endif."""
    kept, off = [], 0  # off: how many conditionals deep
    for line in lines:
        name = line.name if isinstance(line, Directive) else None
        if off:
            opens, closes = name in ("if", "ifdef", "ifndef"), name == "endif"
            off += opens - closes
            if off == 1 and name in ("else", "elif"):
                off = 0
        elif name == "if" and [token.text for token in line.tokens] == ["0"]:
            off = 1
        if not off or (off == 1 and name == "if"):
            kept.append(line)
    return kept


def views(lines):
    """The code of each view, as lists of tokens without directives and with macros expanded."""
    last = _last_branches(lines)
    count = 1 + max(last.values(), default=0)
    if count > _MOST_BRANCHES:
        raise KernelTextError(f"the text has an #if of more than {_MOST_BRANCHES} branches")
    return [_expanded(_view(lines, last, number)) for number in range(count)]


def _view(lines, last, wanted):
    """The lines in the branches of this number; the last branch stands for those beyond it."""
    kept, stack = [], []
    for index, line in enumerate(lines):
        name = line.name if isinstance(line, Directive) else None
        if name in ("if", "ifdef", "ifndef"):
            stack.append([0, min(wanted, last.get(index, 0))])
        elif name in ("elif", "else") and stack:
            stack[-1][0] += 1
        elif name == "endif" and stack:
            stack.pop()
        elif all(number == chosen for number, chosen in stack):
            kept.append(line)
    return kept


def _last_branches(lines):
    """{index of an #if: number of its last branch}; without #else that is one with nothing in."""
    found, stack = {}, []
    for index, line in enumerate(lines):
        name = line.name if isinstance(line, Directive) else None
        if name in ("if", "ifdef", "ifndef"):
            stack.append([index, 0, False])
        elif name in ("elif", "else") and stack:
            stack[-1][1] += 1
            stack[-1][2] = name == "else"
        elif name == "endif" and stack:
            opened, number, has_else = stack.pop()
            found[opened] = number if has_else else number + 1
    return found


class _Macro(NamedTuple):
    parameters: list | None  # None: a macro without parentheses
    body: list


def _expanded(lines):
    expander, found, waiting = _Expander(), [], []
    for line in lines:
        if not isinstance(line, Directive):
            waiting += line
            continue
        found += expander.expand(waiting)
        waiting = []
        if line.name == "define" and line.tokens:
            expander.macros[line.tokens[0].text] = _macro(line.tokens)
        elif line.name == "undef" and line.tokens:
            expander.macros.pop(line.tokens[0].text, None)
    return found + expander.expand(waiting)


class _Expander:
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
                text = " ".join(part.text for part in values[body[index + 1].text])
                found.append(token._replace(kind=STRING, text=f'"{text}"'))
            elif token.text in values and index and body[index - 1].text == "#":
                continue
            elif token.text in values:
                if "##" not in beside and token.text not in expanded:
                    expanded[token.text] = self.expand(values[token.text])
                found += values[token.text] if "##" in beside else expanded[token.text]
            else:
                found.append(token)
        return found


def _macro(tokens):
    """A space before the parenthesis matters, and is gone: a body may begin with a list."""
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
                found += _placed(pasted, token.line)
                index += 1
        else:
            found.append(token)
        index += 1
    return found
