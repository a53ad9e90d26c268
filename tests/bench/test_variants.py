"""The variants of the course's kernels compute the product, and their record says what they are."""

import json
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
from gemlite_lab.lesson.variants import VARIANTS


def test_there_are_many():
    names = [variant.name for variant in VARIANTS]
    assert len(set(names)) == len(names) >= 16


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
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
    problem = Problem(VARIANTS[0].weights, 1, 64, 1024)
    row = row_of(record_variants.candidate_of(VARIANTS[0]), problem, card, result, "", 7)
    record_variants.write(tmp_path / "a folder" / "record.json", [vars(row)])
    record = json.loads((tmp_path / "a folder" / "record.json").read_text())
    assert record["device"] == "a card"
    assert record["changes"].keys() == {variant.name for variant in VARIANTS}
    (kept,) = record["rows"]
    assert (kept["kernel"], kept["N"], kept["K"]) == (VARIANTS[0].name, 64, 1024)
    assert kept["p50_us"] == 2.0
