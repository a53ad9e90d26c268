"""`load_checkpoint`: models that other libraries quantized, as models of `GemLiteLinear`."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

import torch
from tqdm import tqdm

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.models.files import checked_arguments, load_quantized
from gemlite_edu.models.folder import quantization_config, read_json
from gemlite_edu.models.hqq_checkpoint import HqqCheckpoint, is_of_hqq
from gemlite_edu.models.linear_layers import Model
from gemlite_edu.models.packed_checkpoint import PackedCheckpoint
from gemlite_edu.models.shards import write_shards
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.quantize import QuantizedWeight

_OWN_CONFIGS = ("quantize_config.json", "quant_config.json")  # of AutoGPTQ and of AutoAWQ
_DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float16, torch.bfloat16, torch.float32)}


@overload
def load_checkpoint(
    folder: str | os.PathLike[str], model: None = None, device: torch.device | str = "cpu"
) -> Any: ...  # a model of transformers, which is optional
@overload
def load_checkpoint(
    folder: str | os.PathLike[str], model: Model, device: torch.device | str = "cpu"
) -> Model: ...


def load_checkpoint(
    folder: str | os.PathLike[str],
    model: torch.nn.Module | None = None,
    device: torch.device | str = "cpu",
) -> torch.nn.Module:
    """Load a model that GPTQ, AWQ or HQQ quantized; its codes, scales and zeros do not change.

    folder: config.json with a `quantization_config`, or a quantize_config.json or quant_config.json
        beside it, and safetensors, in shards or not; for HQQ also qmodel.pt.
        GPTQ of AutoGPTQ and GPTQModel: 2, 3, 4 and 8 bits, checkpoint_format gptq and gptq_v2, with
        groups of neighbours: a g_idx must be k // group_size, which desc_act=False gives. AWQ of
        AutoAWQ: 4 bits, version gemm. HQQ: axis 1, scales that are not quantized themselves. Read
        by the documented formats, without those libraries.
    model, device: as for `load_quantized`: None builds a model of transformers from the config.

    x and y have the config's dtype, else float16. While the converted model is loaded, it is also
    in temporary files. Returns the model. Raises TypeError or ValueError, in one sentence, for
    anything else; then `model` is unchanged.
    """
    folder, device = checked_arguments(folder, model, device)
    config = read_json(folder / "config.json")
    checkpoint = _checkpoint(folder, config)
    if not checkpoint.layers:
        raise ValueError(f"{folder} has no packed layer: is it a quantized model?")
    dtype = _DTYPES.get(str(config.get("dtype") or config.get("torch_dtype")), torch.float16)
    with tempfile.TemporaryDirectory() as converted:
        write_shards(_converted(checkpoint, model, dtype), Path(converted))
        config = config | {"quantization_config": quantization_config()}
        if model is not None:
            config.pop("architectures", None)  # the model may be a class of the caller's
        (Path(converted) / "config.json").write_text(json.dumps(config))
        if (folder / "generation_config.json").exists():
            shutil.copy(folder / "generation_config.json", converted)
        try:
            loaded: Any = load_quantized(converted, model, device)
        except ValueError as error:
            raise ValueError(str(error).replace(converted, str(folder))) from error
    if model is None:
        loaded.name_or_path = loaded.config._name_or_path = str(folder)
    return loaded


def _checkpoint(folder: Path, config: dict[str, Any]) -> PackedCheckpoint | HqqCheckpoint:
    """The reader for the folder's method."""
    settings: Any = config.get("quantization_config")
    for name in _OWN_CONFIGS:
        if settings is None and (folder / name).exists():
            settings = read_json(folder / name)
            settings.setdefault("quant_method", "awq" if "w_bit" in settings else "gptq")
    if not isinstance(settings, dict | None):
        raise ValueError(f"the quantization_config of {folder} is no JSON object: {settings!r:.60}")
    settings = settings or {}
    method = settings.get("quant_method")
    if method in ("gptq", "awq"):
        return PackedCheckpoint(folder, method, settings)
    if method == "hqq" or method is None and is_of_hqq(folder):
        return HqqCheckpoint(folder)
    raise ValueError(
        f"{folder} has the quant_method {method!r}: load_checkpoint reads gptq, awq and hqq, and "
        "load_quantized the folders of save_quantized"
    )


def _converted(
    checkpoint: PackedCheckpoint | HqqCheckpoint, model: torch.nn.Module | None, dtype: torch.dtype
) -> Iterator[tuple[str, torch.Tensor]]:
    """The pairs (name, tensor) of the model with `GemLiteLinear` layers, one layer at a time."""
    for name in checkpoint.others:
        yield name, checkpoint.read(name)
    for layer in tqdm(checkpoint.layers, desc="Converting", unit="layer"):
        try:
            q, bias = checkpoint.quantized(layer)
            bias = None if bias is None or _is_padding(bias, model, layer) else bias.to(dtype)
            made = GemLiteLinear.from_coded(_coded(q), bias, dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{layer}: {error}") from error
        for part, tensor in made.state_dict().items():
            yield f"{layer}.{part}", tensor


def _coded(q: QuantizedWeight) -> CodedWeight:
    """A `QuantizedWeight` as a `CodedWeight`, with float16 scales if they are as exact."""
    halves = q.scales.half()
    scales = halves if torch.equal(halves.float(), q.scales) else q.scales
    group_size = None if q.group_size == q.W_q.shape[1] else q.group_size
    format = Format(q.nbits, group_size=group_size, scale_dtype=scales.dtype)
    return CodedWeight(format, q.W_q, scales, q.zeros)


def _is_padding(bias: torch.Tensor, model: torch.nn.Module | None, layer: str) -> bool:
    """True for zeros where the model has no bias: AutoGPTQ used to write one for every layer."""
    own = dict(model.named_modules()).get(layer) if model is not None else None
    return getattr(own, "bias", bias) is None and not bias.any()
