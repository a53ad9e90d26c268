"""Whole numbers from quotients of floats, which a GPU does not compute to the last bit.

Triton compiles `a / b` in float32 to an instruction that is right to two units in the last place. A
whole number that it makes of such a quotient may be one too small; its interpreter divides exactly.
"""

import ast

from gemlite_lab.checker.triton_words import Foreign

_TO_WHOLE = "int", "floor", "ceil"
_TO_TYPE = "to", "cast"


def refuse_whole_quotients(function, parents):
    """Raise `Foreign` for a division with / whose quotient becomes a whole number.

    parents: {node: the one that it is a part of}. The quotient may have got a name before. One of
    numbers that are known when Triton compiles, named in capitals, is Python's, and exact.
    """
    nodes = list(ast.walk(function))
    quotients = [node for node in nodes if _divides(node) and not _is_known(node)]
    named = set().union(*(_names_of(node, parents) for node in quotients))
    quotients += [node for node in nodes if isinstance(node, ast.Name) and node.id in named]
    for node in quotients:
        if any(map(_makes_whole, _around(node, parents))):
            why = (
                "on a GPU Triton divides floats to within two units in the last place, so this "
                "whole number may be one too small: divide whole numbers with //"
            )
            raise Foreign(node, why)


def _around(node, parents):
    """The expressions that an expression is a part of."""
    whole = parents[node]
    while isinstance(whole, ast.expr):
        yield whole
        whole = parents[whole]


def _names_of(node, parents):
    """The names that the statement around an expression assigns."""
    while isinstance(node, ast.expr):
        node = parents[node]
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _divides(node):
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)
    return isinstance(node, ast.Call) and _word(node.func) == "fdiv"


def _is_known(node):
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return all(name.isupper() for name in names)


def _makes_whole(node):
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.FloorDiv)
    if not isinstance(node, ast.Call):
        return False
    word = _word(node.func)
    return word in _TO_WHOLE or (
        word in _TO_TYPE and any("int" in ast.unparse(part) for part in node.args)
    )


def _word(function):
    return ast.unparse(function).rsplit(".", 1)[-1]
