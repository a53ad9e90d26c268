"""What the inputs of splitk_group must be, so that a group taken wrongly shows."""

import json
from pathlib import Path

import pytest
import torch

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.runnable import runnable
from gemlite_lab.checker.wrong_answers import as_answer, wrong_answers_to
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.sandbox.triton_products import splitk_group_product

SPLITK_GROUP = EXERCISES["splitk_group"]
CASES = SPLITK_GROUP.cases()
TESTS = Path(__file__).parent.parent
AS_FOUND = wrong_answers_to("splitk_group", TESTS)["as_found"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_no_two_groups_of_a_row_have_the_same_scale_and_zero(case):
    for scales, zeros in zip(case.scales.T.tolist(), case.zeros.T.tolist(), strict=True):
        assert len(set(zip(scales, zeros, strict=True))) == len(scales)


def test_many_groups_stay_many_where_each_tile_is_one():
    """So no answer that confuses groups from 80 on is told that it is right for such tiles."""
    trap = SPLITK_GROUP.traps["each tile were a group"]
    many = [case for case in CASES if len(case.scales) > 256]
    assert len(many) == 2
    for case in map(trap, many):
        assert len(case.scales) > 256 and case.block_k == case.group_size
        pairs = torch.cat([case.scales, case.zeros], dim=1)
        assert len(pairs.unique(dim=0)) == len(pairs)


def test_one_case_has_more_k_than_16_bits_count():
    assert max(case.x.shape[1] for case in CASES) > 2**15


def test_an_index_that_is_wrong_for_zeros_alone_shows():
    """So do wrong groups of scales alone, and wrong rows, which random numbers show."""
    many_groups = max(CASES, key=lambda case: len(case.zeros))
    many_rows = max(CASES, key=lambda case: case.zeros.shape[1])
    for values in (many_groups.zeros.T, many_groups.scales.T, many_rows.zeros):
        assert all(len(row.unique()) == len(row) for row in values)


def test_the_cases_have_what_the_text_promises():
    longer = {case.group_size > case.block_k for case in CASES}
    assert longer == {True, False} and any(case.group_size < case.block_k for case in CASES)
    assert any(
        max(case.group_size, case.block_k) % min(case.group_size, case.block_k) for case in CASES
    )
    assert all(case.group_size % 16 == 0 for case in CASES)
    assert any(case.x.shape[1] % case.block_k for case in CASES)
    assert any(case.x.shape[1] % case.group_size for case in CASES)


def test_as_found_it_passes_its_authors_test_and_no_other():
    found = as_answer(SPLITK_GROUP, AS_FOUND.text, "as_found")
    with runnable(SPLITK_GROUP, found) as sandbox:
        passed = [
            torch.equal(SPLITK_GROUP.run(sandbox, case, "cpu"), SPLITK_GROUP.expected(case)[0])
            for case in CASES
        ]
    assert passed == [True] + [False] * (len(CASES) - 1)


def test_the_notebook_ships_the_kernel_as_found():
    notebook = json.loads((TESTS.parent / "exercises" / find_lesson("split_k").file).read_text())
    shipped = next(
        s for c in notebook["cells"] if "def splitk_group" in (s := "".join(c["source"]))
    )

    def code(text):
        lines = text[text.index("def splitk_group") :].splitlines()
        return [line.partition("  # ")[0] for line in lines]

    assert code(shipped) == code(AS_FOUND.text)


def test_a_chunk_that_has_no_tile_adds_nothing():
    text = (TESTS / "right" / "splitk_group" / "group_of_each_k.py").read_text()
    right = as_answer(SPLITK_GROUP, text, "group_of_each_k")
    case = CASES[0]
    operands = case.x, case.W_q, case.scales, case.zeros
    whole, cut = (
        splitk_group_product(right, *operands, case.group_size, case.block_k, chunks)
        for chunks in (1, 3)
    )
    assert torch.equal(whole, cut)
