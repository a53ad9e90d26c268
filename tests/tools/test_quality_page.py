"""Each sentence of docs/quality.md that compares rows is true in the record."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import quality_table  # noqa: E402

from gemlite_edu import INT2, INT4, NF4, quantize_to_format  # noqa: E402
from gemlite_edu.models.linear_layers import DEFAULT_SKIP, linear_layers  # noqa: E402
from gemlite_lab import small_llama  # noqa: E402

GROUPS = (None, 128, 64, 32)
ROWS = quality_table.recorded()["rows"]
PAGE = " ".join(quality_table.PAGE.read_text().split())


def cost(weights, group=None, quantizer="nearest", with_head=False):
    """Bits per byte of a row."""
    return ROWS[weights, group, quantizer, with_head]["bits_per_byte"]


def said(weights, group=None, quantizer="nearest", with_head=False):
    """The same as the page writes it."""
    return f"{cost(weights, group, quantizer, with_head):.3f}"


def bits(weights, group=None):
    return f"{ROWS[weights, group, 'nearest', False]['bits']:.2f}"


def test_8_bits_cost_nothing():
    assert abs(cost("INT8") - cost("fp16")) < 0.0005
    assert f"**8 bits cost nothing.** INT8 has the {said('fp16')} of fp16" in PAGE


@pytest.mark.parametrize("weights", ["INT4", "INT3", "INT2"])
@pytest.mark.parametrize("quantizer", ["nearest", "gptq"])
def test_groups_help(weights, quantizer):
    costs = [cost(weights, group, quantizer) for group in GROUPS]
    assert costs == sorted(costs, reverse=True)
    assert "**Groups help.** By rounding and by GPTQ, integers need fewer bits per byte" in PAGE


def test_groups_matter_more_the_fewer_the_bits():
    gains = [cost(weights) - cost(weights, 32) for weights in ("INT4", "INT3", "INT2")]
    assert gains == sorted(gains)


def test_a_bit_in_the_codes_is_worth_more_than_in_the_scales():
    for more, fewer in (("INT4", "INT3"), ("INT3", "INT2")):
        for quantizer in ("nearest", "hqq", "gptq"):
            assert cost(more, None, quantizer) < cost(fewer, 32, quantizer)
    assert (
        f"INT4 with a scale per channel ({bits('INT4')} bits) needs {said('INT4')}, and INT3 in "
        f"groups of 32 ({bits('INT3', 32)} bits) {said('INT3', 32)}"
    ) in PAGE


def error(format, model):
    """||W' - W|| / ||W|| over all quantized layers."""
    lost = total = 0.0
    for name in linear_layers(model, DEFAULT_SKIP):
        W = model.get_submodule(name).weight
        lost += (quantize_to_format(W, format).dequantize() - W).square().sum().item()
        total += W.square().sum().item()
    return (lost / total) ** 0.5


def test_nf4_beats_int4_per_channel_and_not_in_small_groups():
    model = small_llama(dtype=torch.float32)
    int4, nf4, int4_32, nf4_32, int2 = (
        f"{error(format, model):.3f}"
        for format in (INT4, NF4, replace(INT4, group_size=32), replace(NF4, group_size=32), INT2)
    )
    assert cost("NF4") < cost("INT4") and abs(cost("NF4", 32) - cost("INT4", 32)) < 0.0005
    assert f"NF4 needs {said('NF4')} and INT4 {said('INT4')}, although INT4 has a zero" in PAGE
    assert (
        f"the weights' relative error is {nf4} with NF4 and {int4} with INT4. In groups of 32 it "
        f"is {nf4_32} and {int4_32}"
    ) in PAGE
    assert f"the two need the same, {said('NF4', 32)} and {said('INT4', 32)}" in PAGE
    assert all(abs(cost("NF4", group) - cost("NF4", 128)) < 0.0005 for group in (64, 32))
    assert f"the errors are {int2} times as large as the weights themselves" in PAGE


def test_the_4_bit_floats():
    assert cost("NF4", 64) < cost("NVFP4", 16) < cost("MXFP4", 32) < cost("INT4")
    assert bits("NF4", 64) == bits("MXFP4", 32)
    assert f"MXFP4 needs {said('MXFP4', 32)}, NF4 in groups of 64, with as many" in PAGE
    assert f"with as many bits, {said('NF4', 64)}" in PAGE
    assert f"half as large, and needs {said('NVFP4', 16)}" in PAGE


def test_2_bits_need_more_than_rounding():
    assert cost("INT2") > 2.5 * cost("fp16")
    assert cost("INT2", 32) > cost("INT2", 32, "hqq") > cost("INT2", 32, "gptq") > cost("INT3")
    assert f"rounding per channel leaves {said('INT2')}, against {said('fp16')} in fp16" in PAGE
    assert (
        f"In groups of 32 it is {said('INT2', 32)}; there HQQ brings it to "
        f"{said('INT2', 32, 'hqq')} and GPTQ to {said('INT2', 32, 'gptq')}"
    ) in PAGE
    assert f"is at {said('INT3')} by rounding and {said('INT3', None, 'gptq')} by GPTQ" in PAGE


def test_gptq_is_the_best_of_each_row():
    for weights, group, quantizer, with_head in ROWS:
        if (weights, group, "gptq", with_head) in ROWS and quantizer != "gptq":
            assert cost(weights, group, "gptq") < cost(weights, group, quantizer)
    assert "**GPTQ is the best of each row.**" in PAGE


def test_hqq_helps_with_few_bits_in_small_groups():
    gains = {(w, g): cost(w, g) - cost(w, g, "hqq") for w in ("INT3", "INT2") for g in GROUPS}
    assert all(gain > 0 for (_, group), gain in gains.items() if group in (64, 32))
    assert gains["INT3", None] < 0 and gains["INT2", 128] < 0
    assert "It helps with 3 and 2 bits in groups of 64 and 32; with 3 bits per channel" in PAGE


def test_ternary_and_sparse_weights_are_for_models_trained_for_them():
    assert cost("ternary") > cost("INT2") and cost("INT4") < cost("sparse")
    assert abs(cost("sparse") - cost("sparse", 64)) < 0.005
    assert f"Of this one ternary weights leave {said('ternary')}" in PAGE
    assert f"{said('sparse')} per channel and {said('sparse', 64)} in groups of 64" in PAGE


def test_the_head_costs_more_than_its_share():
    whole, layers = (ROWS["INT4", 64, "nearest", head]["count"] for head in (True, False))
    assert f"**The head** has {1 - layers / whole:.0%} of the weights and more than" in PAGE
    for weights in ("INT4", "INT3"):
        cost_of_all = cost(weights, 64, with_head=True) - cost("fp16")
        of_head = cost(weights, 64, with_head=True) - cost(weights, 64)
        assert of_head > (1 - layers / whole) * cost_of_all
    int8, int4, int3 = (
        said(weights, group, with_head=True)
        for weights, group in (("INT8", None), ("INT4", 64), ("INT3", 64))
    )
    assert (
        f"INT8 needs {int8}, INT4 in groups of 64 {int4} instead of {said('INT4', 64)}, and INT3 "
        f"{int3} instead of {said('INT3', 64)}"
    ) in PAGE
