"""A student's answer, taken out of a notebook without running any of it.

A notebook is data here: its cells are parsed, and the statements that the answer needs become a
text, which the answer's own process runs. An answer is found by its name alone, so neither the
tests in a submission nor the metadata of its cells matter.
"""

import ast
import json
import linecache
import re
from functools import cache
from importlib import import_module
from types import FunctionType

import triton.language as tl

from gemlite_lab.classroom.plan import ROOT
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.sandbox.sandbox import AnswerError, Sandbox
from gemlite_lab.sandbox.written import Written, code_of, value_of

LARGEST_TEXT = 200_000  # characters of an answer with what it needs
_MOST_CODE = 1_000_000  # characters of code in a notebook
_MAGIC = re.compile(r"^[%!?].*$", re.MULTILINE)


class NoAnswer(ValueError):
    """A submission has no answer that could be judged; the message says why."""


def cells_of(path):
    """The texts of the code cells of the notebook at `path`. NoAnswer if it is no notebook."""
    try:
        notebook = json.loads(path.read_bytes())
        cells = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"{path.name} is not JSON, as a notebook is: {error}") from None
    except (AttributeError, KeyError, TypeError):
        raise NoAnswer(f"{path.name} is no notebook of format 4: it has no list of cells") from None
    if sum(map(len, sources)) > _MOST_CODE:
        raise NoAnswer(f"{path.name} has more than {_MOST_CODE} characters of code")
    return sources


def defining_text(cells, variable):
    """The statements that make up the answer called `variable`; "" if no cell defines it.

    These are the imports of all cells, what defines the answer, and what defines the names that it
    uses: functions, classes and assignments, in the order of the notebook. NoAnswer if the cell
    that defines it is no Python.
    """
    if not any(variable in cell for cell in cells):
        return ""
    statements, broken = [], ""
    for cell in cells:
        try:
            statements += _statements(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            broken = str(error) if _looks_like_its_definition(cell, variable) else broken
    needed = _needed(statements, variable)
    if not needed and broken:
        raise NoAnswer(f"the cell that defines {variable} is no Python: {broken}")
    return "\n\n".join(needed)


def answer_in(text, variable, exercise):
    """What `judge` takes for an answer: the text of a kernel, or a function that nothing calls.

    text: from `defining_text`. A function may use the data that its exercise's notebook, as we
    ship it, imports from this repository.
    """
    if len(text) > LARGEST_TEXT:
        raise NoAnswer(f"{variable} and what it needs are more than {LARGEST_TEXT} characters")
    where = f"<{variable}>"
    linecache.cache[where] = len(text), None, text.splitlines(keepends=True), where
    try:
        if exercise.is_kernel:
            return _kernel_in(text, variable, where)
        if exercise.is_triton:
            return _triton_in(text, variable, where)
        return Written(text, variable, where, _given(exercise.lesson))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoAnswer(f"{variable} cannot be read: {error}") from None


@cache
def _given(lesson):
    """{name: value} of the data that the notebook in exercises/ imports from this repository."""
    cells = cells_of(ROOT / "exercises" / find_lesson(lesson).file)
    imports = (s for cell in cells for s, _ in _statements(cell) if isinstance(s, ast.ImportFrom))
    values = {
        alias.asname or alias.name: getattr(import_module(each.module), alias.name)
        for each in imports
        if each.module.startswith("gemlite_")
        for alias in each.names
    }
    return {name: value for name, value in values.items() if isinstance(value, dict | tuple)}


def _kernel_in(text, variable, where):
    """The text that the statements give the variable; they run in a process of their own."""
    try:
        with Sandbox(value_of) as evaluate:
            kernel = evaluate(text, variable, where)
    except AnswerError as error:
        raise NoAnswer(f"{variable} cannot be read: {error.kind} {error}".rstrip()) from None
    if type(kernel) is not str or len(kernel) > LARGEST_TEXT:
        raise NoAnswer(f"{variable} must be a text of at most {LARGEST_TEXT} characters")
    return kernel


def _triton_in(text, variable, where):
    """The function as Triton reads it: its code, its constants and which arguments are known."""
    *_, function = (s for s in ast.parse(text).body if variable in _names_of(s))
    if not isinstance(function, ast.FunctionDef):
        raise NoAnswer(f"{variable} must be a def: Triton compiles its text")
    defaults = tuple(map(ast.literal_eval, function.args.defaults))
    answer = FunctionType(code_of(text, variable, where), {}, variable, defaults)
    answer.__annotations__ = {
        argument.arg: tl.constexpr
        for argument in function.args.posonlyargs + function.args.args
        if argument.annotation and ast.unparse(argument.annotation).endswith("constexpr")
    }
    return answer


def _looks_like_its_definition(cell, variable):
    return re.search(rf"^(?:def +{variable}\b|{variable}\b.*=)", cell, re.MULTILINE)


def _statements(cell):
    """[(statement, its text)] of a cell that may have lines for IPython alone."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        cell = _MAGIC.sub("", cell)
        tree = ast.parse(cell)
    lines = cell.split("\n")
    return [(each, "\n".join(lines[_first(each) - 1 : each.end_lineno])) for each in tree.body]


def _first(statement):
    """The first line of a statement, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _needed(statements, variable):
    """The texts of the statements that define the variable and what it uses; [] if none does."""
    used, known, needed = set(), {variable}, {}
    while used != known:
        used = known
        for place, (statement, text) in enumerate(statements):
            if _names_of(statement) & used:
                needed[place] = text
                known = known | {node.id for node in ast.walk(statement) if _is_name(node)}
    if not needed:
        return []
    for place, (statement, text) in enumerate(statements):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            needed[place] = text
    return [needed[place] for place in sorted(needed)]


def _names_of(statement):
    """The names that a statement at the top of a cell defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        return {node.id for target in targets for node in ast.walk(target) if _is_name(node)}
    return set()


def _is_name(node):
    return isinstance(node, ast.Name)
