"""Expressions whose value in Triton's interpreter is not their value on a GPU.

`a and b` is one of the two in Python, and a truth value on a GPU, which computes both sides. A
number that a loop has counted is undefined on a GPU once the loop is over.
"""

import ast

from gemlite_lab.checker import triton_language as language
from gemlite_lab.checker.triton_words import Foreign

_ORDERED = ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE
_BRANCHES = ast.If, ast.While, ast.IfExp, ast.Assert


def refuse_values_that_differ(function, parents):
    """Raise `Foreign` for an expression or a name in a function whose value differs."""
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            _refuse_and(node, parents)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            _refuse_not(node, parents)
        elif isinstance(node, ast.Compare):
            _refuse_comparison(node)
            if _is_of_counts(node, function) and _is_computed_with(node, parents):
                why = "here this is Python's True or False, on a GPU one bit: give it a name first"
                raise Foreign(node, why)
    _Counted().run(function.body, set())


def _refuse_and(node, parents):
    word = "and" if isinstance(node.op, ast.And) else "or"
    for value in node.values[1:]:
        if any(_reads_memory(part) for part in ast.walk(value)):
            why = f"a GPU computes both sides of `{word}`: put the second one into an `if`"
            raise Foreign(value, why)
    if not _is_condition(node, parents) and not all(map(_is_truth, node.values)):
        why = f"`{word}` gives a truth value on a GPU, and here one of its sides: write an `if`"
        raise Foreign(node, why)


def _reads_memory(node):
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    is_access = any(word in called for word in ("load", "store", "atomic"))
    return is_access or called in language.functions_of_the_kernels()


def _is_condition(node, parents):
    whole = parents[node]
    if isinstance(whole, _BRANCHES):
        return whole.test is node
    is_truth_of_truths = isinstance(whole, ast.BoolOp) or (
        isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.Not)
    )
    return is_truth_of_truths and _is_condition(whole, parents)


def _is_truth(node):
    if isinstance(node, ast.BoolOp):
        return all(map(_is_truth, node.values))
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare)


def _refuse_not(node, parents):
    whole = parents[node]
    if isinstance(whole, ast.BinOp | ast.UnaryOp) and not _is_condition(node, parents):
        why = "`not` gives a truth value, which a GPU computes with as one bit: write an `if`"
        raise Foreign(node, why)


def _refuse_comparison(node):
    if len(node.ops) > 1:
        raise Foreign(node, "Triton's language compares two values at a time")
    if isinstance(node.ops[0], _ORDERED):
        return
    sides = node.left, *node.comparators
    is_none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    if not isinstance(node.ops[0], ast.Is | ast.IsNot) or not is_none:
        raise Foreign(node, "`is` is for None alone and `in` for nothing: compare with ==")


def _is_of_counts(comparison, function):
    """True if a comparison is one of a loop's number with what is known when Triton compiles."""
    loops = (node for node in ast.walk(function) if isinstance(node, ast.For))
    counts = {loop.target.id for loop in loops if not _is_unrolled(loop)}
    arguments = function.args.args + function.args.posonlyargs
    known = {a.arg for a in arguments if a.annotation and "constexpr" in ast.unparse(a.annotation)}
    names = _names(comparison, ast.Load)
    return bool(names & counts) and names <= counts | known


def _is_unrolled(loop):
    return ast.unparse(loop.iter.func).endswith(".static_range")


def _is_computed_with(comparison, parents):
    whole = parents[comparison]
    if isinstance(whole, ast.UnaryOp):
        return not isinstance(whole.op, ast.Not)
    return isinstance(whole, ast.BinOp) and not isinstance(whole.op, ast.BitAnd | ast.BitOr)


class _Counted:
    """Follows the statements of a function, and the names of loops that are over."""

    def run(self, statements, over):
        """The names that are over after the statements. over: those before."""
        for statement in statements:
            over = self._after(statement, over)
        return over

    def _after(self, statement, over):
        if isinstance(statement, ast.For):
            return self._after_loop(statement, over)
        if isinstance(statement, ast.If | ast.While):
            self._refuse(statement.test, over)
            for _ in range(2):
                over = self.run(statement.body, set(over)) | self.run(statement.orelse, set(over))
            return over
        self._refuse(statement, over)
        return over - _names(statement, ast.Store)

    def _after_loop(self, loop, over):
        self._refuse(loop.iter, over)
        number = {loop.target.id}
        for _ in range(2):  # what the body leaves over is so in its next turn
            over = over | self.run(loop.body, over - number) - number
        return over - number if _is_unrolled(loop) else over | number

    def _refuse(self, part, over):
        for node in ast.walk(part):
            is_name = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
            if is_name and node.id in over:
                why = f"`{node.id}` counts a loop that is over, and is undefined then on a GPU"
                raise Foreign(node, why)


def _names(part, context):
    nodes = (n for n in ast.walk(part) if isinstance(n, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, context)}
