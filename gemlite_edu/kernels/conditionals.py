"""The lines of a text, its directives among them, and the code that conditionals leave of them.

Whether a condition holds depends on how the kernel is compiled, so there is one view of the text
for each branch: the first view has the first branch of every conditional, the second the second.
"""

from typing import NamedTuple

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.macros import Expander, macro_of
from gemlite_edu.kernels.tokens import NEWLINE, Token

_MOST_BRANCHES = 64


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


def _expanded(lines):
    expander, found, waiting = Expander(), [], []
    for line in lines:
        if not isinstance(line, Directive):
            waiting += line
            continue
        found += expander.expand(waiting)
        waiting = []
        if line.name == "define" and line.tokens:
            expander.macros[line.tokens[0].text] = macro_of(line.tokens)
        elif line.name == "undef" and line.tokens:
            expander.macros.pop(line.tokens[0].text, None)
    return found + expander.expand(waiting)
