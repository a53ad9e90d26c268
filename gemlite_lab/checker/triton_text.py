"""What the text of a Triton answer may say: what its interpreter and its compiler take alike.

The interpreter runs any Python, on objects that have more attributes than Triton's language knows.
So a text could ask where it runs, and be right there alone. These rules read all of a text, also
the lines that no case reaches.
"""

import ast
import re
import textwrap
from contextlib import contextmanager

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab.checker import triton_language as language
from gemlite_lab.checker.triton_quotients import refuse_whole_quotients
from gemlite_lab.checker.triton_values import refuse_values_that_differ
from gemlite_lab.checker.triton_words import Foreign, refuse_print, refuse_word


def refuse_foreign(name, text):
    """Raise KernelTextError for what means nothing, or something else, on a GPU.

    A print of a tensor is no such thing: it helps a learner, until the answer is right.
    """
    with _one_sentence(name, text) as (function, lines):
        _refuse_second_def(lines)
        parents = _parents_in(function)
        own = _own_names(function)
        _refuse_head(function)
        for statement in function.body:
            for node in ast.walk(statement):
                _refuse_grammar(node)
                refuse_word(node, parents, own)
        refuse_values_that_differ(function, parents)


def refuse_in_right_ones(name, text):
    """Raise KernelTextError for what makes a right answer wrong on a GPU.

    That is a print that does not compile, or a whole number made of an inexact quotient.
    """
    with _one_sentence(name, text) as (function, _):
        for node in ast.walk(function):
            refuse_print(node)
        refuse_whole_quotients(function, _parents_in(function))


@contextmanager
def _one_sentence(name, text):
    """Gives (the function in a text, its lines), and makes a `Foreign` one sentence with a line."""
    text = textwrap.dedent(text)
    lines = text.splitlines()
    try:
        yield ast.parse(text).body[0], lines
    except Foreign as foreign:
        number = foreign.node.lineno
        line = lines[number - 1].strip()
        raise KernelTextError(f"{name}, line {number}: {foreign}, at `{line}`") from None


def _parents_in(function):
    return {of: node for node in ast.walk(function) for of in ast.iter_child_nodes(node)}


def _refuse_second_def(lines):
    """The interpreter begins to read at the last line that begins with def, a GPU at the first."""
    _, *others = [n for n, line in enumerate(lines, 1) if re.match(r"\s*def\b", line)]
    if others:
        why = "a second line begins with `def`, and an answer is one function without others in it"
        raise Foreign(ast.Pass(lineno=others[0]), why)


def _own_names(function):
    """The names that the function gets or assigns."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return stored | {argument.arg for argument in _arguments(function)}


def _arguments(function):
    return function.args.posonlyargs + function.args.args


def _refuse_head(function):
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs:
        raise Foreign(function, "a Triton function has neither *arguments nor **arguments")
    for argument in _arguments(function):
        if argument.arg in language.TAKEN:
            raise Foreign(argument, f"`{argument.arg}` has a meaning already: take another name")
    for default in given.defaults:
        if not isinstance(default, ast.Constant):
            raise Foreign(default, "the default of an argument is a number, True, False or None")


def _refuse_grammar(node):
    is_part = isinstance(node, ast.expr | ast.stmt | ast.comprehension)
    if is_part and not isinstance(node, language.GRAMMAR):
        raise Foreign(node, f"Triton's language has no {language.called(node)}")
    if isinstance(node, ast.For | ast.While) and node.orelse:
        raise Foreign(node.orelse[0], "a loop in Triton's language has no `else`")
    if isinstance(node, ast.For) and not isinstance(node.target, ast.Name):
        raise Foreign(node, "a loop in Triton's language counts one number")
    if isinstance(node, ast.For) and ast.unparse(getattr(node.iter, "func", node.iter)) not in (
        language.LOOPS
    ):
        raise Foreign(node, "a loop in Triton's language goes over `range` or `tl.static_range`")
    if isinstance(getattr(node, "ctx", None), ast.Store):
        if not isinstance(node, ast.Name | ast.Tuple | ast.List):
            raise Foreign(node, f"nothing can be assigned to `{ast.unparse(node)}`")
