"""Measure what each format costs the small Llama, in bits per byte of source that it never saw.

python tools/measure_quality.py (some minutes on two cores; writes gemlite_lab/data/quality.json)

Every torch.nn.Linear but the head is quantized, in some rows the head too; the embedding and the
norms stay. The model then multiplies by the dense weights that codes and scales stand for, in
float32. Sizes are bytes of the layers' packed tensors: codes, scales, zeros and padding. Rows of
HQQ need the hqq library; without it, those of the last record of the same model stay.
"""

import copy
import hashlib
import importlib.util
import json
import os
import platform
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm

from gemlite_edu import (
    INT2,
    INT3,
    INT4,
    INT8,
    MXFP4,
    NF4,
    NVFP4,
    BitLinear,
    GemLiteLinear,
    calibrated,
    load,
    quantize_linear,
    quantize_ternary,
)
from gemlite_edu.layers.coded_linear import coded_linear, quantizer_of
from gemlite_edu.models.linear_layers import DEFAULT_SKIP, linear_layers
from gemlite_edu.packing import tiled_sparsity_50
from gemlite_lab import bits_per_byte, calibration, encode, held_out, small_llama

PATH = Path(__file__).parent.parent / "gemlite_lab" / "data" / "quality.json"
FORMATS = {
    "INT8": INT8,
    "INT4": INT4,
    "INT3": INT3,
    "INT2": INT2,
    "NF4": NF4,
    "MXFP4": MXFP4,
    "NVFP4": NVFP4,
}
QUANTIZERS = ("nearest", "hqq", "gptq")
_EVERY = 5  # of the held-out modules one in so many is read, in pieces of the model's context
_CALIBRATION_BATCHES, _BATCH, _TOKENS = 8, 8, 512


class Recipe(NamedTuple):
    """What the layers become: a kind of weights, the size of a group, and who chooses the codes.

    group: how many weights share a scale; None: a whole channel, or for "ternary" the layer.
    """

    weights: str
    group: int | None = None
    quantizer: str = "nearest"
    with_head: bool = False


def recipes():
    """All rows of the table."""
    yield Recipe("fp16")
    yield Recipe("INT8")
    for name in ("INT4", "INT3", "INT2"):
        for group in (None, 128, 64, 32):
            yield from (Recipe(name, group, quantizer) for quantizer in QUANTIZERS)
    for name, groups in (("NF4", (None, 128, 64, 32)), ("MXFP4", (32,)), ("NVFP4", (16,))):
        for group in groups:
            yield from (Recipe(name, group, quantizer) for quantizer in ("nearest", "gptq"))
    yield from (Recipe("ternary"), Recipe("sparse"), Recipe("sparse", 64))
    for name, group in (("INT8", None), ("INT4", 64), ("INT3", 64)):
        yield Recipe(name, group, with_head=True)


def format_of(recipe):
    """The `Format` of a recipe; None if its weights have none."""
    format = FORMATS.get(recipe.weights)
    return format and replace(format, group_size=recipe.group)


class Quantized(NamedTuple):
    """The weights (N, K) that a layer computes with, and the bytes of its tensors."""

    weights: torch.Tensor
    nbytes: int


def quantized(linear, recipe, gptq):
    """A torch.nn.Linear after `recipe`; gptq: the quantizer of `calibrated`."""
    if recipe.weights == "fp16":
        return Quantized(linear.weight, linear.weight.numel() * torch.float16.itemsize)
    if recipe.weights == "ternary":
        return ternary(linear)
    if recipe.weights == "sparse":
        return sparse(linear, recipe.group)
    named = {"nearest": None, "hqq": "hqq", "gptq": gptq}[recipe.quantizer]
    format = format_of(recipe)
    q = coded_linear(linear, format, quantizer_of(named, format))
    return Quantized(q.dequantize(), nbytes(GemLiteLinear.from_coded(q).parameters()))


def ternary(linear):
    """-1, 0 or 1 times mean |W|, in the packing of `BitLinear`; x is not quantized."""
    layer = BitLinear.from_linear(linear)
    return Quantized(quantize_ternary(linear.weight).dequantize(), nbytes(layer.buffers()))


def sparse(linear, group):
    """One weight of each pair, the larger, in 7 bits."""
    W = linear.weight
    kept = tiled_sparsity_50(W)
    q = quantize_linear(W * kept, 7, group)
    tensors = load("gemv_a16w7_sparse_fast", group_size=group).pack(q.W_q, kept, q.scales, q.zeros)
    return Quantized(q.dequantize() * kept, nbytes(tensors))


def nbytes(tensors):
    """The bytes of several tensors, of which some may be None."""
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def measure(model, texts, gptq, recipe):
    """One row of the record: the recipe, and what came of it."""
    dense, format = copy.deepcopy(model), format_of(recipe)
    count, size, bits = 0, 0, 0.0
    for name in linear_layers(model, () if recipe.with_head else DEFAULT_SKIP):
        weights, of_layer = quantized(model.get_submodule(name), recipe, gptq)
        dense.get_submodule(name).weight.copy_(weights)
        count, size = count + weights.numel(), size + of_layer
        bits += format.bits_per_weight(*weights.shape) * weights.numel() if format else 0
    context = model.config.max_position_embeddings
    result = {"bits_per_byte": round(bits_per_byte(dense, texts, stride=context), 5)}
    sizes = {"count": count, "bits": round(bits / count, 4) or None, "bytes": size}
    return recipe._asdict() | sizes | result


def calibration_batches():
    """Tokens (8, 512) of the calibration texts, one after the other."""
    tokens = torch.cat([encode(text) for text in calibration().values()])
    count = _CALIBRATION_BATCHES * _BATCH * _TOKENS
    return list(tokens[:count].reshape(_CALIBRATION_BATCHES, _BATCH, _TOKENS))


def digest(model):
    """A hash of the model's weights."""
    state = model.state_dict()
    hashes = [hashlib.sha256(state[name].float().numpy()).hexdigest() for name in sorted(state)]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def record():
    """The whole record, from a run of everything that this Python can run."""
    model = small_llama(dtype=torch.float32)
    names = sorted(held_out())[::_EVERY]
    texts = {name: held_out()[name] for name in names}
    batches = calibration_batches()
    has_hqq = importlib.util.find_spec("hqq") is not None
    gptq = calibrated(model, batches)
    todo = [one for one in recipes() if one.quantizer != "hqq" or has_hqq]
    rows = [measure(model, texts, gptq, one) for one in tqdm(todo, unit="row")]
    made = {
        "date": date.today().isoformat(),
        "device": f"{platform.machine()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "model": digest(model),
        "held_out": {"modules": len(texts), "bytes": sum(len(t.encode()) for t in texts.values())},
        "calibration_tokens": sum(batch.numel() for batch in batches),
    }
    last = {"hqq": version("hqq"), "rows": []} if has_hqq else last_record_like(made)
    kept = [row for row in last["rows"] if row["quantizer"] == "hqq"]
    return made | {"hqq": last["hqq"], "rows": rows + kept}


def last_record_like(made):
    """The record on disk, if it is of the same model and the same texts; else one without rows."""
    last = json.loads(PATH.read_text()) if PATH.exists() else {}
    if any(last.get(key) != made[key] for key in ("model", "held_out")):
        print("There are no rows of HQQ: pip install hqq, and run this again.")
        return {"hqq": None, "rows": []}
    return last


if __name__ == "__main__":
    made = record()
    rows = ",\n".join(json.dumps(row) for row in made.pop("rows"))
    PATH.write_text(json.dumps(made, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n')
    print(f"written to {PATH}")
