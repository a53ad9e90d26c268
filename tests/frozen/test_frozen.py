"""Facts on which other people's files and our measurements depend; no code change may alter them.

`kernel_texts.json` has hashes of the kernels' expanded texts without comments; the measurements are
valid for these texts only, but for those that it lists as changed since they were measured.
`layers.safetensors` holds layers that an earlier version saved, each with an x and its y, and
`gemv_linear.safetensors` a `GemvLinear` with its own text.
"""

import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gemlite_edu import BitLinear, GemvLinear, Int4Linear, quantize_linear
from gemlite_edu.core import GemLiteLinear
from gemlite_edu.kernels import holes, sources
from gemlite_edu.kernels.triton.hashes import all_kernels_hash, kernel_hashes

FOLDER = Path(__file__).parent
TEXTS = json.loads((FOLDER / "kernel_texts.json").read_text())
SCHEMAS = {
    "a8w2": "(Tensor x_q, Tensor W_packed, Tensor scales, Tensor token_scales, SymInt N, "
    "ScalarType y_dtype) -> Tensor",
    "gemv": "(Tensor x, Tensor W_packed, Tensor scales, Tensor zeros, str kernel, SymInt? nbits, "
    "SymInt? group_size, str texts) -> Tensor",
    "linear": "(Tensor x, Tensor? token_scales, Tensor words, Tensor? high, Tensor? scales, "
    "Tensor? zeros, Tensor? channel_scales, Tensor? bias, str form, str matmul_type, "
    "Tensor? levels=None) -> Tensor",
    "mixed_mm": "(Tensor x, Tensor packed, Tensor scales, Tensor zeros, SymInt group_size, "
    "bool transposed) -> Tensor",
}


@pytest.mark.parametrize("name", TEXTS["cuda"])
def test_the_text_of_a_cuda_kernel_is_what_was_measured(name):
    code = re.sub(r"\s+", " ", holes.without_comments(sources.expand(name)))
    assert hashlib.sha256(code.encode()).hexdigest()[:16] == TEXTS["cuda"][name]


def test_the_page_says_so_while_a_text_awaits_its_measurement():
    awaits = TEXTS["changed_since_measured"]
    assert set(awaits) <= TEXTS["cuda"].keys()
    page = (FOLDER.parent.parent / "docs/benchmarks.md").read_text()
    assert ("those of the text before it" in page) == bool(awaits)


def test_the_texts_of_the_triton_kernels_are_what_was_measured():
    assert kernel_hashes() == TEXTS["triton"]
    assert all_kernels_hash() == TEXTS["triton_all"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_operator_keeps_its_schema(name):
    schema = str(getattr(torch.ops.gemlite_edu, name).default._schema)
    assert schema == f"gemlite_edu::{name}{SCHEMAS[name]}"


def saved_layers():
    """{layer: (its state_dict, x, y)} of the file."""
    states, others = defaultdict(dict), defaultdict(dict)
    for key, tensor in load_file(FOLDER / "layers.safetensors").items():
        layer, _, rest = key.partition("/")
        if rest.startswith("state/"):
            states[layer][rest.removeprefix("state/")] = tensor
        else:
            others[layer][rest] = tensor
    return {layer: (states[layer], others[layer]["x"], others[layer]["y"]) for layer in states}


def empty_layer(name, state):
    if name == "int4":
        q = quantize_linear(torch.ones(24, 128), nbits=4, group_size=32)
        return Int4Linear.from_quantized(q, bias=torch.zeros(24))
    if name == "bit":
        return BitLinear(128, 24, bias="bias" in state)
    return GemLiteLinear()


@pytest.mark.parametrize("name", saved_layers())
def test_a_saved_layer_loads_and_gives_the_same_y(name):
    state, x, y = saved_layers()[name]
    layer = empty_layer(name, state)
    layer.load_state_dict(state)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), y, rtol=2e-3, atol=1e-4)  # sums in any order


def test_a_saved_gemv_linear_loads_with_its_text():
    layer = GemvLinear.load(FOLDER / "gemv_linear.safetensors", trust_saved_text=True)
    assert "dequant_dot" in layer.get_extra_state()["replace"]
    x = torch.eye(128)[:8].half()
    torch.manual_seed(0)
    q = quantize_linear(torch.randn(24, 128), nbits=4, group_size=32)
    dense = (q.W_q - q.zeros.repeat_interleave(32, 1)) * q.scales.repeat_interleave(32, 1)
    torch.testing.assert_close(layer(x), dense.T[:8].half(), rtol=1e-3, atol=1e-4)
