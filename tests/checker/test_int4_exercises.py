"""The inputs of mixed_mm_transposed and splitk_scales: nothing taken wrongly can hide in them."""

import json
from pathlib import Path

import pytest
import torch

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.runnable import runnable
from gemlite_lab.checker.wrong_answers import as_answer, wrong_answers_to
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.sandbox.triton_products import splitk_scales_product

NAMES = ("mixed_mm_transposed", "splitk_scales")
CASES = [(name, case) for name in NAMES for case in EXERCISES[name].cases()]
SPLITK_CASES = EXERCISES["splitk_scales"].cases()
TRANSPOSED_CASES = EXERCISES["mixed_mm_transposed"].cases()
TESTS = Path(__file__).parent.parent


AS_FOUND = wrong_answers_to("splitk_scales", TESTS)["as_found"]


def given_as(case):
    """How b and scales lie, and what the codes are."""
    return case.packed.is_contiguous(), case.scales.is_contiguous(), case.signed


@pytest.mark.parametrize("name, case", CASES, ids=lambda value: getattr(value, "label", value))
def test_neighbours_differ_along_both_axes(name, case):
    pairs = torch.stack([case.scales.double(), case.zeros.double()])
    for step in range(1, min(case.N, case.config.get("BLOCK_N", 32) + 1)):
        assert (pairs[:, :, step:] != pairs[:, :, :-step]).any(0).all(), step
    for step in range(1, len(case.scales)):
        assert (pairs[:, step:] != pairs[:, :-step]).any(0).all(), step


@pytest.mark.parametrize("name", NAMES)
def test_an_index_that_is_wrong_for_zeros_or_scales_alone_shows(name):
    case = max(EXERCISES[name].cases(), key=lambda case: len(case.scales))
    for values in (case.zeros, case.zeros.T, case.scales, case.scales.T):
        assert all(len(row.unique()) == len(row) for row in values)


@pytest.mark.parametrize("name, case", CASES, ids=lambda value: getattr(value, "label", value))
def test_every_code_is_there_and_zeros_are_to_no_side(name, case):
    first = -8 if case.signed else 0
    assert case.codes.unique().tolist() == list(range(first, first + 16))
    middle = first + 7.5
    assert (case.zeros < middle).any() and (case.zeros > middle).any()


@pytest.mark.parametrize("name", NAMES)
def test_bytes_and_scales_lie_both_ways_and_codes_are_of_both_kinds(name):
    for values in zip(*map(given_as, EXERCISES[name].cases()), strict=True):
        assert set(values) == {True, False}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tensor", ["packed", "scales", "zeros"])
def test_a_stride_is_not_always_a_size(name, tensor):
    laid = [getattr(case, tensor) for case in EXERCISES[name].cases()]
    assert any(t.stride(1) == 1 and t.stride(0) > t.shape[1] for t in laid)
    if name == "splitk_scales" or tensor == "packed":
        assert any(t.stride(0) == 1 and t.stride(1) > t.shape[0] for t in laid)


def test_the_transposed_cases_have_what_the_text_promises():
    cut = [(case, case.config["BLOCK_K"]) for case in TRANSPOSED_CASES]
    assert all(case.group_size % block_k == 0 for case, block_k in cut)
    assert spare_rows_of(TRANSPOSED_CASES) == [True] * (len(cut) - 1) + [False]
    assert {case.group_size // block_k for case, block_k in cut} == {1, 2, 3}
    assert any(case.N % case.config["BLOCK_N"] for case in TRANSPOSED_CASES)
    assert any(len(case.x) > case.config["BLOCK_M"] for case in TRANSPOSED_CASES)
    assert any(has_a_chunk_without_tiles(case) for case in TRANSPOSED_CASES)


def spare_rows_of(cases):
    """Whether each case has rows of scales that belong to no k; without them a read is a fault."""
    return [len(case.scales) > case.K // case.group_size for case in cases]


def has_a_chunk_without_tiles(case):
    tiles, chunks = -(-case.N // case.config["BLOCK_N"]), case.config["chunks"]
    tiles_of_a_chunk = -(-tiles // chunks)
    return (chunks - 1) * tiles_of_a_chunk >= tiles


def test_the_splitk_cases_have_what_the_text_promises():
    assert all(case.group_size % case.config["BLOCK_K"] == 0 for case in SPLITK_CASES)
    assert spare_rows_of(SPLITK_CASES) == [True] * (len(SPLITK_CASES) - 1) + [False]
    tiles = [(case.K // case.config["BLOCK_K"], case.config["SPLIT_K"]) for case in SPLITK_CASES]
    assert any(count % splits for count, splits in tiles)
    assert any(count < splits for count, splits in tiles)
    assert any(len(case.x) > 16 for case in SPLITK_CASES)


def test_as_found_it_passes_what_a_published_test_covers_and_no_other_case():
    exercise = EXERCISES["splitk_scales"]
    found = as_answer(exercise, AS_FOUND.text, "as_found")
    with runnable(exercise, found) as sandbox:
        passed = [
            torch.equal(exercise.run(sandbox, case, "cpu"), exercise.expected(case)[0])
            for case in SPLITK_CASES
        ]
    assert passed == [True] + [False] * (len(SPLITK_CASES) - 1)
    first = SPLITK_CASES[0]
    assert first.config["SPLIT_K"] == first.scales.stride(0) == 1


def test_the_notebook_ships_the_kernel_as_found():
    notebook = json.loads((TESTS.parent / "exercises" / find_lesson("transposed").file).read_text())
    shipped = next(
        s for c in notebook["cells"] if "def splitk_scales" in (s := "".join(c["source"]))
    )

    def code(text):
        lines = text[text.index("def splitk_scales") :].splitlines()
        return [line.partition("  # ")[0] for line in lines]

    assert code(shipped) == code(AS_FOUND.text)


def test_as_many_splits_as_one_likes_give_the_same():
    text = (TESTS / "right" / "splitk_scales" / "as_in_the_solution.py").read_text()
    right = as_answer(EXERCISES["splitk_scales"], text, "as_in_the_solution")
    case = SPLITK_CASES[1]
    operands = case.x, case.packed, case.scales, case.zeros, case.group_size
    outputs = [
        splitk_scales_product(right, *operands, case.config["BLOCK_K"], splits)
        for splits in (1, 5, 16)
    ]
    assert all(torch.equal(outputs[0], y) for y in outputs)
