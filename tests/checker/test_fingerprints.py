"""Fingerprints: which outputs have the same one, and that a mistake is known by it."""

import pytest
import torch

from gemlite_lab.checker import EXERCISES, fingerprints
from gemlite_lab.checker.fingerprints import fingerprint, mistake_of

PACK, FLOOR, NF4 = (EXERCISES[name] for name in ("pack", "floor_us", "dequant_dot_nf4"))


def of_pack(*numbers, dtype=torch.float32, case=0):
    return fingerprint(PACK, PACK.cases()[case], torch.tensor(numbers, dtype=dtype))


def test_equal_numbers_have_the_same_fingerprint():
    negative_nan = torch.tensor(-1, dtype=torch.int32).view(torch.float32).item()
    assert of_pack(0.0, float("nan"), 2) == of_pack(-0.0, negative_nan, 2)
    assert of_pack(1, 2, dtype=torch.int32) == of_pack(1, 2, dtype=torch.int64)
    every_other = torch.tensor([1, 0, 2, 0], dtype=torch.int32)[::2]
    assert of_pack(1, 2, dtype=torch.int32) == fingerprint(PACK, PACK.cases()[0], every_other)


def test_other_numbers_and_other_cases_have_other_fingerprints():
    texts = {of_pack(1, 2), of_pack(2, 1), of_pack(1, float("nan")), of_pack(1, float("inf"))}
    assert len(texts | {of_pack(1, 2, case=1)}) == 5


def test_an_output_that_may_be_rounded_is_known_by_at_most_16_of_its_numbers():
    y = torch.arange(4 * 100.0).reshape(4, 100)
    numbers = fingerprint(NF4, NF4.cases()[0], y).removeprefix("~ ").split()
    assert len(numbers) == 16 and (numbers[0], numbers[-1]) == ("0", "399")
    assert fingerprint(FLOOR, FLOOR.cases()[0], torch.tensor(1.5)) == "~ 1.5"


@pytest.mark.parametrize("factor, is_named", [(1, True), (1 + 1e-8, True), (1 + 1e-5, False)])
def test_a_mistake_is_known_within_what_its_exercise_allows(factor, is_named, monkeypatch):
    case = FLOOR.cases()[0]
    wrong = FLOOR.expected(case)[0] * 8
    known = {fingerprint(FLOOR, case, wrong): "bits are counted"}
    monkeypatch.setattr(fingerprints, "_known", {"floor_us": known}.get)
    assert mistake_of(FLOOR, case, wrong * factor) == ("bits are counted" if is_named else None)


@pytest.mark.parametrize("name", EXERCISES)
def test_no_right_output_has_the_fingerprint_of_a_mistake(name):
    exercise = EXERCISES[name]
    for case in exercise.cases():
        right, _ = exercise.expected(case)
        assert mistake_of(exercise, case, right) is None, case.label
