"""The variants of the course's kernels compute the product, and their record says what they are."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import record_variants

from gemlite_edu.runners.timing import Timing
from gemlite_lab.bench.card import Card
from gemlite_lab.bench.measuring import TOLERANCE, Result
from gemlite_lab.bench.problem import Problem
from gemlite_lab.bench.run import row_of
from gemlite_lab.lesson.variants import SETS
from gemlite_lab.lesson.variants.record import recorded

_FIRST = SETS["first"]
_ALL = [variant for own in SETS.values() for variant in own]


def test_there_are_many():
    assert len({variant.name for variant in _ALL}) == len(_ALL)
    assert all(len(own) >= 12 for own in SETS.values())


@pytest.mark.parametrize("variant", _ALL, ids=lambda variant: variant.name)
def test_a_variant_computes_the_product(variant):
    candidate, generator = record_variants.candidate_of(variant), torch.Generator().manual_seed(0)
    problem = Problem(variant.weights, 1, 64, 1024)
    weights = problem.draw_weights(candidate.x_dtype, generator)
    x = problem.draw_x(candidate.x_dtype, generator)
    y, right = candidate.prepare(weights, problem).call(x), problem.product(x, weights)
    assert (y.double() - right).norm() <= TOLERANCE * right.norm()


def test_the_record(tmp_path):
    card = Card("a card", 1_000, read_gb_per_s=4000.0, matmul_tflops=700.0, driver="1.2")
    result = Result(Timing(1.0, 2.0, 3.0), nbytes=4_000, error=2e-4, copies=4, mhz=(1980, 3201))
    problem = Problem(_FIRST[0].weights, 1, 64, 1024)
    row = row_of(record_variants.candidate_of(_FIRST[0]), problem, card, result, "", 7)
    record_variants.write(tmp_path / "a folder" / "record.json", [vars(row)], _FIRST)
    record = json.loads((tmp_path / "a folder" / "record.json").read_text())
    assert record["device"] == "a card"
    assert record["changes"].keys() == {variant.name for variant in _FIRST}
    (kept,) = record["rows"]
    assert (kept["kernel"], kept["N"], kept["K"]) == (_FIRST[0].name, 64, 1024)
    assert kept["p50_us"] == 2.0


@pytest.mark.parametrize("name", SETS)
def test_the_recorded_rows_are_of_the_variants(name):
    rows = recorded(name)
    assert not rows or {row.variant for row in rows} == set(SETS[name])
    assert all((row.N, row.K) in row.variant.shapes and row.us > 0 for row in rows)


def test_a_key_names_the_kernel_and_its_problem():
    row = recorded("first")[0]
    assert row.key == (row.variant.name, "W16", row.N, row.K)


@pytest.mark.parametrize("words", [[], ["first"], ["a", "b"], ["first", "a", "b"]])
def test_a_wrong_command_line(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [record_variants.__file__, *words])
    with pytest.raises(SystemExit, match="usage"):
        runpy.run_path(record_variants.__file__, run_name="__main__")
