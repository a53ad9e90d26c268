"""The variants of the course's kernels compute the product, and their record says what they are."""

import json
import os
import subprocess
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
from gemlite_lab.lesson.variants import LATER, VARIANTS
from gemlite_lab.lesson.variants.record import recorded


def test_there_are_many():
    names = [variant.name for variant in (*VARIANTS, *LATER)]
    assert len(set(names)) == len(names)
    assert len(VARIANTS) >= 16 and len(LATER) >= 14


@pytest.mark.parametrize("variant", (*VARIANTS, *LATER), ids=lambda variant: variant.name)
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
    record_variants.write(tmp_path / "a folder" / "record.json", [vars(row)], VARIANTS)
    record = json.loads((tmp_path / "a folder" / "record.json").read_text())
    assert record["device"] == "a card"
    assert record["changes"].keys() == {variant.name for variant in VARIANTS}
    (kept,) = record["rows"]
    assert (kept["kernel"], kept["N"], kept["K"]) == (VARIANTS[0].name, 64, 1024)
    assert kept["p50_us"] == 2.0


def test_the_recorded_rows_are_of_the_variants():
    rows = recorded(VARIANTS)
    assert {row.variant for row in rows} == set(VARIANTS)
    assert all((row.N, row.K) in row.variant.shapes and row.us > 0 for row in rows)
    assert rows[0].key == (rows[0].variant.name, "W16", rows[0].N, rows[0].K)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["a", "later", "c"]])
def test_a_wrong_command_line(words):
    command = [sys.executable, record_variants.__file__, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode and "usage" in done.stderr
