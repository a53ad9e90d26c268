"""What the inputs of splitk_group must be, so that a group taken wrongly shows."""

import json
from pathlib import Path

import pytest
import torch

from gemlite_lab.checker import EXERCISES, splitk_group

CASES = EXERCISES["splitk_group"].cases()
TESTS = Path(__file__).parent.parent


def answer(kind, name):
    path, namespace = TESTS / kind / "splitk_group" / f"{name}.py", {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace["splitk_group"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_no_two_groups_of_a_row_have_the_same_scale_and_zero(case):
    for scales, zeros in zip(case.scales.T.tolist(), case.zeros.T.tolist(), strict=True):
        assert len(set(zip(scales, zeros, strict=True))) == len(case.scales)


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
    exercise, found = EXERCISES["splitk_group"], answer("wrong", "as_found")
    passed = [
        torch.equal(exercise.run(found, case, "cpu"), exercise.expected(case)[0]) for case in CASES
    ]
    assert passed == [True, False, False, False, False]


def test_the_notebook_ships_the_kernel_as_found():
    notebook = json.loads((TESTS.parent / "exercises" / "11_triton_gemm.ipynb").read_text())
    shipped = next(
        s for c in notebook["cells"] if "def splitk_group" in (s := "".join(c["source"]))
    )
    wrong = (TESTS / "wrong" / "splitk_group" / "as_found.py").read_text()

    def code(text):
        lines = text[text.index("def splitk_group") :].splitlines()
        return [line.partition("  # ")[0] for line in lines]

    assert code(shipped) == code(wrong)


def test_a_chunk_that_has_no_tile_adds_nothing():
    right = answer("right", "group_of_each_k")
    case = CASES[0]
    operands = case.x, case.W_q, case.scales, case.zeros
    whole, cut = (
        splitk_group.splitk_group_product(right, *operands, case.group_size, case.block_k, chunks)
        for chunks in (1, 3)
    )
    assert torch.equal(whole, cut)
