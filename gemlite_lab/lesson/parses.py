"""Whether text that stops anywhere is Python, once the statement in which it stops is cut."""

import ast
from codeop import PyCF_ALLOW_INCOMPLETE_INPUT


def parses(text):
    """True if `text` is the beginning of a module and has a finished statement."""
    kept = cut_unfinished(text)
    return kept is not None and bool(ast.parse(kept).body)


def cut_unfinished(text):
    """`text` without its unfinished last statement; None if `text` has a mistake before its end.

    The last line goes if no line end closes it. What is left must be what Python's compiler calls
    incomplete, or complete: an open bracket, string, header or `try` at the end is no mistake, and
    goes line by line.

    >>> cut_unfinished("x = 1\\ndef f(a):\\n    y = (a +")
    'x = 1\\n'
    """
    text = text[: text.rfind("\n") + 1]
    try:
        compile(text, "text", "exec", flags=ast.PyCF_ONLY_AST | PyCF_ALLOW_INCOMPLETE_INPUT)
    except ValueError:  # a NUL
        return None
    except SyntaxError as error:
        if error.msg != "incomplete input":
            return None
    while not _is_whole(text):
        text = text[: text.rfind("\n", 0, -1) + 1]
    return text


def _is_whole(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
