"""Three rungs for a large exercise: order our lines, fill the blanks in them, or write it all."""

import random
import re
import textwrap
from itertools import pairwise

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.notes import has_rungs, note_of
from gemlite_lab.checker.unfinished import BLANK, ORDER_MARK, STUB_MARK
from gemlite_lab.checker.workbook import solution_text
from gemlite_lab.lesson.record import record_rung


def rung(name, which="blanks"):
    """Put an easier start of the large exercise `name` into a new cell; elsewhere, print it.

    which: "order", our lines shuffled; "blanks", our lines with the deciding expressions taken
    out; "all", the signature alone. The cell comes below the one that calls this, and nothing
    that you wrote is replaced.
    """
    text = rung_text(name, which)
    record_rung(name, which)
    shell = _shell()
    if shell is None:
        print(text)
    else:
        shell.set_next_input(text, replace=False)
        print(f"The new cell below begins {name}. Complete it, run it, then run its check.")


def rung_text(name, which):
    """The cell's text for one rung, made of the cell with our solution."""
    if not has_rungs(name):
        if name in EXERCISES:
            raise ValueError(f'{name} has no rungs, but hints: hint("{name}", 1)')
        known = ", ".join(known for known in EXERCISES if has_rungs(known))
        raise ValueError(f"there are no rungs of {name!r}; there are of {known}")
    if which not in _LINES_OF:
        raise ValueError(f"there is no rung {which!r}; there are {', '.join(_LINES_OF)}")
    above, ours, below = solution_parts(name)
    indent = re.match(" *", ours[0])[0]
    lines = _LINES_OF[which](name, textwrap.dedent("\n".join(ours)))
    return "\n".join([*above, *(indent + line if line else "" for line in lines), *below])


def solution_parts(name):
    """(lines above our solution, its lines, lines below it) of the cell that it is in."""
    lines = solution_text(name).splitlines()
    begin, end = (
        next(i for i, line in enumerate(lines) if f"### {mark} SOLUTION" in line)
        for mark in ("BEGIN", "END")
    )
    return lines[:begin], lines[begin + 1 : end], lines[end + 1 :]


def _in_a_fixed_disorder(name, ours):
    """Without indentation, which would tell the order; the braces that close blocks come last."""
    statements = _statements(ours)
    braces = [statement for statement in statements if statement == "}"]
    shuffled = _shuffled(name, [statement for statement in statements if statement != "}"])
    if EXERCISES[name].is_kernel:
        order = f"#error {ORDER_MARK}: put them in order, then delete this line"
        return [order, *shuffled, *braces]
    order = f"#error {ORDER_MARK}: uncomment, order and indent them, then delete this line"
    return [order, *(f"# {line}" for statement in shuffled for line in statement.splitlines())]


def _shuffled(seed, statements):
    """The statements in an order in which none follows the one that it follows in ours."""
    chance, pairs, shuffled = random.Random(seed), set(pairwise(statements)), list(statements)
    while not pairs.isdisjoint(pairwise(shuffled)):
        chance.shuffle(shuffled)
    return shuffled


def _statements(code):
    """Its lines, each with the lines that continue it; the first of each without indentation."""
    statements, open_brackets = [], 0
    for line in filter(str.strip, code.splitlines()):
        if open_brackets:
            statements[-1].append(line)
        else:
            statements.append([line])
        open_brackets += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
    return [textwrap.dedent("\n".join(lines)) for lines in statements]


def _with_blanks(name, ours):
    for expression in note_of(name).blanks:
        ours = ours.replace(expression, BLANK)
    comment = "//" if EXERCISES[name].is_kernel else "#"
    return [f"{comment} Put code in place of each blank.", *ours.splitlines()]


def _stub(name, ours):
    return [f"#error {STUB_MARK}"]


_LINES_OF = {"order": _in_a_fixed_disorder, "blanks": _with_blanks, "all": _stub}


def _shell():
    """The IPython shell that runs this, or None."""
    from IPython import get_ipython

    return get_ipython()
