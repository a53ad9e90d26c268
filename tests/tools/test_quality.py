"""The table of quality: its page, its record, and the layer that it speaks of."""

import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import measure_quality  # noqa: E402
import quality_table  # noqa: E402
from measure_quality import Recipe  # noqa: E402

from gemlite_edu import GemLiteLinear, quantize_  # noqa: E402
from gemlite_lab import small_llama  # noqa: E402


@pytest.fixture(scope="module")
def model():
    return small_llama(dtype=torch.float32)


@pytest.fixture(scope="module")
def record():
    return quality_table.recorded()


def test_the_page_has_the_table_of_the_record(record):
    text = quality_table.PAGE.read_text()
    assert text == quality_table.page_with_table(text, record), "run tools/quality_table.py"


def test_the_record_has_every_row_of_the_model_as_it_is(model, record):
    assert record["model"] == measure_quality.digest(model), "run tools/measure_quality.py"
    assert set(record["rows"]) == {tuple(one) for one in measure_quality.recipes()}


@pytest.mark.parametrize("recipe", [Recipe("INT4", 64), Recipe("NVFP4", 16)], ids=str)
def test_sizes_are_those_of_the_layers(recipe, record):
    row = record["rows"][recipe]
    model = quantize_(small_llama(dtype=torch.float32), measure_quality.format_of(recipe))
    assert row["bytes"] == model.quantization_summary.bytes_after
    assert row["count"] == sum(N * K for N, K in _shapes(model))


def _shapes(model):
    return [layer.shape for layer in model.quantization_summary.layers]


def test_a_layers_own_kernel_computes_with_the_weights_that_are_measured(model):
    linear, recipe = model.layers[0].attention.out, Recipe("NF4", 64)
    weights, nbytes = measure_quality.quantized(linear, recipe, None)
    layer = GemLiteLinear.from_linear(linear.half(), measure_quality.format_of(recipe))
    x = torch.randn(2, linear.in_features, generator=torch.Generator().manual_seed(0)).half()
    y, expected = layer.forward_manual(x, "GEMV_FAST").float(), x.float() @ weights.T
    assert (y - expected).norm() < 2**-10 * expected.norm()
    assert nbytes == measure_quality.nbytes(layer.parameters())


def test_a_page_without_its_marks_is_left_as_it_is(record):
    with pytest.raises(ValueError, match="the page has not both marks"):
        quality_table.page_with_table("no marks", record)
