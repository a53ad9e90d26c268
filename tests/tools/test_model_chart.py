import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import model_chart  # noqa: E402
from measured_rows import model_row  # noqa: E402

from gemlite_lab.bench.model import rows as rows_of_models  # noqa: E402

US = {"fp16": 4000.0, "ours": 1600.0, "humming": 2000.0, "torchao": 2500.0}


def rows(without=()):
    """Rows of every contender in `US` but gemlite; humming has none for 64 texts."""
    made = [
        model_row(name, shape, size=size, p50_us=us)
        for (name, us), shape, size in product(US.items(), ("8B", "1B"), (1, 4, 16, 64))
        if (name, size) != ("humming", 64)
    ]
    return {
        place: row
        for place, row in rows_of_models.newest_rows(made).items()
        if place not in without
    }


def test_the_chart_shows_times_as_fast_as_fp16_and_the_limit():
    found, limit = model_chart.speedups(rows(), "8B")
    assert found == {
        "ours": [2.5, 2.5, 2.5, 2.5],
        "humming": [2.0, 2.0, 2.0, None],
        "torchao": [1.6, 1.6, 1.6, 1.6],
    }
    nbytes = 7_504_658_432 * 4.25 / 8 + 128 * 128 * 1024  # weights, and the keys of 128 tokens
    assert limit[0] == pytest.approx(4000 / (nbytes / 4e6))
    svg = model_chart.drawn(rows())
    for words in ("gemlite_edu", "humming", "torchao (tinygemm)", "limit of the memory", "1B"):
        assert words in svg
    assert ">gemlite<" not in svg


@pytest.mark.parametrize("name", ["fp16", "ours"])
def test_a_missing_row_is_no_chart(name):
    with pytest.raises(ValueError, match=f"decoding of 1B has no row of {name} for each of"):
        model_chart.drawn(rows(without={("1B", name, "decode", 16)}))


def test_the_chart_is_that_of_the_rows():
    assert model_chart.PATH.read_text() == model_chart.chart(), "run tools/model_chart.py"


def test_without_rows_the_tool_says_so_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(rows_of_models, "model_path", lambda device: tmp_path / "none.csv")
    with pytest.raises(ValueError, match="there are no rows in .*: run make bench-model"):
        model_chart.chart()
