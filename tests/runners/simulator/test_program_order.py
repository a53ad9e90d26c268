"""Blocks in the order in which lanes run them: what leads on first, a loop as a whole."""

import re

import pytest

from gemlite_edu.runners.simulator.program_order import program_order

BRANCH = """
f:
\tcall a
\tjne .L2
\tcall b
\tjmp .L3
.L2:
\tcall c
.L3:
\tcall d
\tret
"""
LOOP_WITH_ITS_EXIT_INSIDE = """
f:
\tcall a
.L2:
\tcall head
\tjne .L3
\tcall exit
\tret
.L3:
\tcall latch
\tjmp .L2
"""
NESTED = """
f:
.L1:
\tcall outer
.L2:
\tcall inner
\tjne .L4
\tcall between
\tjmp .L1
.L4:
\tcall inner_latch
\tjne .L2
\tcall behind
\tret
g:
\tcall second
\tret
"""


def names_in_order(assembly):
    calls = list(re.finditer(r"call (\w+)", assembly))
    ranks = program_order(assembly, [call.start() for call in calls])
    assert sorted(ranks) == list(range(len(calls)))
    return [name for _, name in sorted(zip(ranks, (call[1] for call in calls), strict=True))]


def test_both_sides_of_a_branch_come_before_what_follows():
    order = names_in_order(BRANCH)
    assert order[0] == "a" and set(order[1:3]) == {"b", "c"} and order[3] == "d"


def test_a_loop_comes_as_a_whole_before_its_exit():
    assert names_in_order(LOOP_WITH_ITS_EXIT_INSIDE) == ["a", "head", "latch", "exit"]


def test_a_loop_in_a_loop_and_a_second_function():
    order = names_in_order(NESTED)
    assert order == ["outer", "inner", "inner_latch", "between", "behind", "second"]


@pytest.mark.parametrize("blocks", [1, 3000])
def test_it_is_fast_and_deep_enough(blocks):
    text = "f:\n" + "".join(f".L{i}:\n\tcall c{i}\n\tjne .L{i}\n" for i in range(blocks))
    assert names_in_order(text + "\tret\n") == [f"c{i}" for i in range(blocks)]
