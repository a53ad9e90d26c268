"""`save_quantized` and `load_quantized`: a quantized model as a folder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import torch

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.models import transformers_models
from gemlite_edu.models.device import checked_device
from gemlite_edu.models.folder import (
    check_quantization_config,
    checked_path,
    new_folder,
    quantization_config,
    read_json,
)
from gemlite_edu.models.linear_layers import Model
from gemlite_edu.models.load_into import load_into
from gemlite_edu.models.saved_layers import TrustedTexts
from gemlite_edu.models.shards import Shards, write_shards


def save_quantized(model: torch.nn.Module, folder: str | os.PathLike[str]) -> None:
    """Write a model with `GemLiteLinear` layers to a new folder: safetensors and config.json.

    model: any torch.nn.Module whose state is tensors. A model of transformers is written by its own
        save_pretrained, so that its from_pretrained can read it where gemlite_edu is imported.
    folder: a path that does not exist, or an empty folder. The files get this name when all of them
        are complete.

    Raises TypeError or ValueError for a model without such layers, or a folder that has files.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, GemLiteLinear):
        raise ValueError("the model is itself a GemLiteLinear: save its state_dict by save_file")
    layers = {n: module for n, module in model.named_modules() if isinstance(module, GemLiteLinear)}
    if not layers:
        raise ValueError(f"the {type(model).__name__} has no GemLiteLinear: call quantize_ first")
    for name, layer in layers.items():
        if layer.metadata is None:
            raise ValueError(f"{name} has no weights yet: call its pack, or leave it out")
    with new_folder(folder) as unfinished:
        if transformers_models.is_one(model):
            transformers_models.attach(model)
            model.save_pretrained(unfinished)
            return
        state, same_as = _without_duplicates(model.state_dict())
        config = {"quantization_config": quantization_config(), "same_as": same_as}
        config["architectures"] = [type(model).__name__]
        write_shards(state.items(), unfinished)
        (unfinished / "config.json").write_text(json.dumps(config, indent=2))


@overload
def load_quantized(
    folder: str | os.PathLike[str],
    model: None = None,
    device: torch.device | str = "cpu",
    trusted_texts: TrustedTexts = None,
) -> Any: ...  # a model of transformers, which is optional
@overload
def load_quantized(
    folder: str | os.PathLike[str],
    model: Model,
    device: torch.device | str = "cpu",
    trusted_texts: TrustedTexts = None,
) -> Model: ...


def load_quantized(
    folder: str | os.PathLike[str],
    model: torch.nn.Module | None = None,
    device: torch.device | str = "cpu",
    trusted_texts: TrustedTexts = None,
) -> torch.nn.Module:
    """Load a model that `save_quantized` or transformers' save_pretrained wrote.

    model: None for a model of transformers, which is then built from the config. For any other
        model one of the same class, not quantized, with any weights; best built without memory,
        inside `with torch.device("meta")`. It is completed in place. Buffers that a state_dict
        leaves out are not in the folder: those must have their numbers already.
    device: where the model goes, a CPU or a CUDA device.
    trusted_texts: CUDA texts that the layers' formats may bring, {hole: text} or a list of such
        dicts, as `UntrustedText.texts` has them.

    Tensors have the dtypes that were saved. Returns the model. Raises ValueError, in one sentence,
    for a folder that is incomplete or damaged or does not fit the model, which is then unchanged,
    and `UntrustedText` for CUDA texts that are not trusted. Damage is of the structure: there is no
    checksum, so a changed byte within a tensor loads silently.
    """
    folder, device = checked_arguments(folder, model, device)
    config = read_json(folder / "config.json")
    check_quantization_config(config.get("quantization_config"), folder)
    if model is None:
        return transformers_models.load(folder, config, trusted_texts).to(device)
    _check_class(model, config.get("architectures"), folder)
    shards = Shards(folder, config.get("same_as"))
    return load_into(model, shards, device, trusted_texts, folder)


def checked_arguments(
    folder: str | os.PathLike[str], model: torch.nn.Module | None, device: torch.device | str
) -> tuple[Path, torch.device]:
    """(folder as a Path, device as a torch.device) of `load_quantized`; TypeError or ValueError
    for arguments of other kinds."""
    folder = checked_path(folder)
    if folder.is_file():
        raise ValueError(f"{folder} is a file: pass the folder that holds it")
    if not isinstance(model, torch.nn.Module | None):
        raise TypeError(f"model must be a torch.nn.Module or None, got {type(model).__name__}")
    return folder, checked_device(device)


def _check_class(model: torch.nn.Module, saved: object, folder: Path) -> None:
    """Raise ValueError if the config names another class. saved: its `architectures`, or None."""
    name = type(model).__name__
    if isinstance(saved, list) and saved and name not in saved:
        raise ValueError(
            f"{folder} holds a {saved[0]}, and the model is a {name}: pass a model of that class"
        )


def _without_duplicates(
    state: Mapping[str, object],
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """(state without tensors that are another one, {name: that other name})."""
    first: dict[tuple[object, ...], str] = {}
    kept, same_as = {}, {}
    for name, tensor in state.items():
        if not isinstance(tensor, torch.Tensor):
            came = type(tensor).__name__
            raise ValueError(f"safetensors hold tensors alone, and the model's {name} is a {came}")
        if tensor.is_meta:
            raise ValueError(f"the model's {name} has no numbers: it is on meta")
        place = tensor.data_ptr(), tensor.device, tensor.dtype, tensor.shape, tensor.stride()
        if tensor.numel() and first.setdefault(place, name) != name:
            same_as[name] = first[place]
            continue
        is_part = tensor.untyped_storage().nbytes() != tensor.nbytes
        kept[name] = tensor.clone() if is_part else tensor
    return kept, same_as
