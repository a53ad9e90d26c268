"""Complete a model with the tensors of a folder: everything is checked before anything changes."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.models.folder import counted
from gemlite_edu.models.linear_layers import Model, named_layers, put
from gemlite_edu.models.saved_layers import (
    PARTS,
    Forms,
    TrustedTexts,
    read_layer,
    saved_forms,
    trusted_for,
)
from gemlite_edu.models.shards import Shards


def load_into(
    model: Model, shards: Shards, device: torch.device, trusted_texts: TrustedTexts, where: Path
) -> Model:
    """Put the packed layers of `Shards` into the model, and the other tensors; returns the model.

    The arguments are those of `load_quantized`, which says what is raised. where: the folder.
    """
    forms = saved_forms(shards)
    if not forms:
        raise ValueError(f"{where} has no packed layer, but its config says so: save it anew")
    texts_of = trusted_for(forms, trusted_texts, where)
    places = _places(model, forms, shards)
    of_layers = tuple(f"{name}." for names in places.values() for name in names)
    _check_others(model, shards, of_layers, where)
    layers = {name: read_layer(shards, name, texts_of[name], device) for name in places}
    others = _others(model, shards, of_layers, device)
    for name, names in places.items():
        put(model, names, layers[name])
    model.load_state_dict(others, strict=False, assign=True)
    return model.to(device)


def _places(model: torch.nn.Module, forms: Forms, shards: Shards) -> dict[str, tuple[str, ...]]:
    """{name: all names of the layer in the model}; raises ValueError if a layer does not fit."""
    found = named_layers(model, lambda module: type(module) in (torch.nn.Linear, GemLiteLinear))
    names_of = {name: names for names in found.values() for name in names}
    places = {}
    for name, (form, _) in forms.items():
        if name not in names_of:
            raise ValueError(
                f"the folder has a packed layer {name}, and the model no such Linear: if it is a "
                "model of transformers, pass the folder alone"
            )
        _check_one_tensor([f"{n}.W_q" for n in names_of[name]], shards)
        layer, sizes = model.get_submodule(name), (form.out_features, form.in_features)
        if type(layer) is torch.nn.Linear:
            came = layer.out_features, layer.in_features
            if came != sizes:
                raise ValueError(f"{name} is {sizes} in the folder and {came} in the model")
            if (layer.bias is None) == (f"{name}.bias" in shards.names()):
                has = "no bias" if layer.bias is None else "a bias"
                raise ValueError(f"{name} has {has} in the model, other than in the folder")
        places[names_of[name][0]] = names_of[name]
    return places


def _check_one_tensor(names: Sequence[str], shards: Shards) -> None:
    """Raise ValueError unless the tensors that are one in the model are one in the folder."""
    for name in names[1:]:
        if shards.stored_as(name) != shards.stored_as(names[0]):
            raise ValueError(f"{names[0]} and {name} are one in the model and two in the folder")


def _check_others(
    model: torch.nn.Module, shards: Shards, of_layers: tuple[str, ...], where: Path
) -> None:
    """Raise ValueError unless the tensors beside the layers are those of the model's state."""
    tied, in_files = _tied(model), set(shards.names())
    state = {n: t for n, t in model.state_dict().items() if not n.startswith(of_layers)}
    packed = {layer + part for layer in of_layers for part in (*PARTS, "weight")}
    saved = [name for name in shards.names() if name not in packed]
    needed = [name for name in state if in_files.isdisjoint(tied.get(name, [name]))]
    for names, sentence in (
        (needed, f"the model needs, and {where} does not have"),
        (
            [name for name in saved if name not in state],
            f"{where} has, and the model does not take",
        ),
    ):
        if names:
            raise ValueError(f"{sentence}, {counted(names)}")
    for name in saved:
        came, own = tuple(shards.meta(name).shape), tuple(state[name].shape)
        if came != own:
            raise ValueError(f"{name} is {came} in {where}, and {own} in the model")
    for name in saved:
        _check_one_tensor([n for n in tied.get(name, []) if n in in_files], shards)
    for name, buffer in model.named_buffers():
        if buffer.is_meta and name not in state and not name.startswith(of_layers):
            raise ValueError(
                f"{name} is on meta, and {where} does not have it, because a state_dict leaves it "
                "out: build the model on a device, not on meta"
            )


def _tied(model: torch.nn.Module) -> dict[str, list[str]]:
    """{name of a parameter: [the names of this parameter, itself included]}."""
    by_tensor = defaultdict(list)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        by_tensor[id(parameter)].append(name)
    return {name: names for names in by_tensor.values() for name in names}


def _others(
    model: torch.nn.Module, shards: Shards, of_layers: tuple[str, ...], device: torch.device
) -> dict[str, torch.Tensor]:
    """{name: tensor} beside the layers; a parameter with several names is read once."""
    parameters, tied = dict(model.named_parameters()), _tied(model)
    state: dict[str, torch.Tensor] = {}
    for name in shards.names():
        if name.startswith(of_layers) or name in state:
            continue
        tensor, names = shards.read(name, device), tied.get(name, [name])
        if name in tied:
            own = parameters[names[0]]
            tensor = torch.nn.Parameter(tensor, own.requires_grad)
        state |= dict.fromkeys(names, tensor)
    return state
