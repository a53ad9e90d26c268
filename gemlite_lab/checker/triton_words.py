"""The names, attributes and calls in a Triton answer: those of Triton's language alone."""

import ast

from gemlite_lab.checker import triton_language as language


class Foreign(Exception):
    """A node of the text that Triton's interpreter and compiler would not take alike, and why."""

    def __init__(self, node, why):
        super().__init__(why)
        self.node = node


def refuse_word(node, parents, own):
    """Raise `Foreign` for a node that is no word of Triton's language.

    parents: {node: the one that it is a part of}. own: the names that the answer gets or assigns.
    """
    if isinstance(node, ast.Name):
        _refuse_name(node, parents, own)
    elif isinstance(node, ast.Attribute):
        _refuse_attribute(node, parents)
    elif isinstance(node, ast.Call):
        _refuse_call(node, parents, own)
    elif isinstance(node, ast.Constant | ast.JoinedStr):
        _refuse_constant(node, parents)


def _refuse_name(node, parents, own):
    if node.id in language.TAKEN and not isinstance(node.ctx, ast.Load):
        raise Foreign(node, f"`{node.id}` has a meaning already: take another name")
    if node.id in own:
        return
    if node.id in ("tl", "triton"):
        _refuse_alone(node, parents)
    elif node.id in language.PYTHON or node.id in language.functions_of_the_kernels():
        _refuse_uncalled(node, parents)
    else:
        raise Foreign(
            node,
            f"name '{node.id}' is not defined (known are what it gets, what it defines, and the "
            "names of the kernel's file)",
        )


def _refuse_attribute(node, parents):
    of, word = ast.unparse(node.value), node.attr
    if of in language.MODULES:
        if f"{of}.{word}" in language.MODULES:
            _refuse_alone(node, parents)
        elif word in language.MODULES[of]:
            if not _is_annotation(node, parents):
                _refuse_uncalled(node, parents)
        elif word == "inline_asm_elementwise":
            why = "Triton's interpreter cannot run assembly: write it in Triton's own operations"
            raise Foreign(node, why)
        elif of == "triton" or word not in language.TYPES:
            raise Foreign(node, f"`{of}.{word}` is no word that an answer in Triton can use")
    elif word in language.METHODS:
        _refuse_uncalled(node, parents)
    elif word not in language.PROPERTIES:
        raise Foreign(node, f"`.{word}` is no word that an answer in Triton can use")


def _refuse_alone(node, parents):
    if not isinstance(parents[node], ast.Attribute):
        raise Foreign(node, f"`{ast.unparse(node)}` alone is no value")


def _refuse_uncalled(node, parents):
    call = parents[node]
    if not isinstance(call, ast.Call) or call.func is not node:
        raise Foreign(node, f"`{ast.unparse(node)}` can only be called")


def _is_annotation(node, parents):
    assignment = parents[node]
    return isinstance(assignment, ast.AnnAssign) and assignment.annotation is node


def _refuse_call(node, parents, own):
    called = node.func
    if isinstance(called, ast.Name) and called.id in own:
        raise Foreign(node, f"`{called.id}` is a value, which cannot be called")
    if not isinstance(called, ast.Name | ast.Attribute):
        raise Foreign(node, "only a function that has a name can be called")
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg.startswith("_"):
            raise Foreign(node, f"no call takes `{ast.unparse(keyword)}`")
    if ast.unparse(called) == "print" and not isinstance(parents[node], ast.Expr):
        raise Foreign(node, "a print gives no value: let it stand alone")


def refuse_print(node):
    """Raise `Foreign` for a print that the interpreter does and a GPU does not."""
    is_print = isinstance(node, ast.Call) and ast.unparse(node.func) in language.PRINTS
    if is_print and not (node.args and _is_text(node.args[0])):
        values = ", ".join(map(ast.unparse, node.args))
        text = f"{values}: ".replace('"', "'")
        raise Foreign(
            node,
            "this print helps here, but on a GPU a print begins with a text: remove it, or write "
            f'tl.device_print("{text}", {values})',
        )


def _refuse_constant(node, parents):
    if _is_text(node):
        part_of = parents[node]
        if isinstance(part_of, ast.Compare | ast.BinOp | ast.Subscript | ast.BoolOp):
            raise Foreign(node, "a GPU computes nothing with texts")
        if isinstance(node, ast.JoinedStr) and not _is_printed(part_of):
            raise Foreign(node, "an f-string is for a print or an assertion alone")
    elif not isinstance(node.value, int | float | None):
        raise Foreign(node, f"Triton's language has no {type(node.value).__name__}")


def _is_text(node):
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def _is_printed(part_of):
    if isinstance(part_of, ast.Call):
        return ast.unparse(part_of.func) in (*language.PRINTS, *language.ASSERTIONS)
    return isinstance(part_of, ast.Assert)
