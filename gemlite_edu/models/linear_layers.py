"""The linear layers of a model: which of them to replace, what stands in the way, the replacing."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

import torch

Model = TypeVar("Model", bound=torch.nn.Module)

DEFAULT_SKIP = ("lm_head",)


def linear_layers(
    model: torch.nn.Module, skip: Collection[str] | None
) -> dict[str, tuple[str, ...]]:
    """{name: (name, other names of the same layer ...)} of the layers that `skip` leaves over.

    Layers are modules whose type is torch.nn.Linear: a subclass may be more than its weight. A name
    in `skip` is one or more whole parts of a dotted name, and leaves out all layers below it.
    Raises TypeError or ValueError if there is none, or if a name in `skip` is no module's name.
    """
    check_model(model, "GemLiteLinear.from_linear(model, format)")
    skip = checked_skip(model, skip, "skip", _is_in)
    found = named_layers(model, lambda module: type(module) is torch.nn.Linear)
    kept = {n: names for n, names in found.items() if not any(_is_in(n, skip) for n in names)}
    if not kept:
        raise ValueError(_nothing_to_quantize(model, skip if found else ()))
    return kept


def _nothing_to_quantize(model: torch.nn.Module, skip: Iterable[str]) -> str:
    """The sentence for a model without a Linear outside `skip`, with the reason if it shows."""
    kinds = [type(module).__name__ for module in model.modules()]
    left_out = f" other than those in skip = {tuple(skip)}" if skip else ""
    sentence = f"the {type(model).__name__} has no torch.nn.Linear to quantize{left_out}"
    if done := kinds.count("GemLiteLinear"):
        return f"{sentence}, because it is quantized already: {done} layers are GemLiteLinear"
    if others := kinds.count("Conv1D"):
        return (
            f"{sentence}, but {others} Conv1D, as transformers' GPT-2 has: put a torch.nn.Linear "
            "with the transposed weight in place of each"
        )
    return f"{sentence}: nothing was changed"


def checked_skip(
    model: torch.nn.Module,
    skip: Iterable[str] | None,
    argument: str,
    leaves_out: Callable[[str, tuple[str, ...]], bool],
) -> tuple[str, ...]:
    """`skip` as a tuple of texts, each of which leaves out a module of the model; () for None.

    argument: what the user calls it. leaves_out: a function of a module's name and (text,). The
    texts of `DEFAULT_SKIP` may name nothing. Raises TypeError or ValueError for anything else.
    """
    skip = () if skip is None else skip
    is_one = not isinstance(skip, str) and isinstance(skip, Iterable)
    skip = tuple(skip) if is_one else skip
    if not is_one or not all(isinstance(text, str) and text for text in skip):
        raise TypeError(
            f"{argument} must be a list or tuple of names, such as {DEFAULT_SKIP}, got {skip!r:.60}"
        )
    names = [name for name, _ in model.named_modules(remove_duplicate=False)]
    for text in skip:
        if text not in DEFAULT_SKIP and not any(leaves_out(name, (text,)) for name in names):
            raise ValueError(f"{argument} has {text!r}, and the model has no module of that name")
    return tuple(skip)


def named_layers(
    model: torch.nn.Module, is_one: Callable[[torch.nn.Module], bool]
) -> dict[str, tuple[str, ...]]:
    """{name: (name, other names of the same layer ...)} of the modules for which `is_one`."""
    names_of = defaultdict(list)
    for name, module in model.named_modules(remove_duplicate=False):
        if is_one(module):
            names_of[module].append(name)
    return {names[0]: tuple(names) for names in names_of.values()}


def check_replaceable(model: torch.nn.Module, layers: Iterable[str]) -> None:
    """Raise ValueError if replacing one of `linear_layers` would lose what hangs on it."""
    owners: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for name, module in model.named_modules():
        for own_name, parameter in module.named_parameters(recurse=False):
            owners[id(parameter)][id(module)] = f"{name}.{own_name}".lstrip(".")
    for name in layers:
        linear = model.get_submodule(name)
        if type(linear) is torch.nn.Linear and "weight" not in linear._parameters:
            raise ValueError(f"{name} computes its weight anew in each call: remove that, or skip")
        if linear._forward_hooks or linear._forward_pre_hooks or "forward" in vars(linear):
            raise ValueError(
                f"{name} has hooks or a forward of its own, which replacing would lose: "
                "remove them, or skip the layer"
            )
        own = owners[id(linear._parameters.get("weight"))]
        others = [owner for module, owner in own.items() if module != id(linear)]
        if others:
            raise ValueError(
                f"{name}.weight is also {others[0]}, and quantizing would untie the two: "
                "add the layer to skip, or give it a weight of its own"
            )


def put(model: torch.nn.Module, names: Sequence[str], layer: torch.nn.Module) -> None:
    """Put `layer` where the model has the layer with these names, in the same mode of training."""
    layer.train(model.get_submodule(names[0]).training)
    for name in names:
        parent = model.get_submodule(name.rpartition(".")[0])
        setattr(parent, name.rpartition(".")[2], layer)
        _leave_fast_path(model, name)


def _leave_fast_path(model: torch.nn.Module, name: str) -> None:
    """Keep torch's encoders around this layer from their fast path, which reads linear1.weight."""
    while name:
        name = name.rpartition(".")[0]
        module = model.get_submodule(name)
        if isinstance(module, torch.nn.TransformerEncoderLayer):
            module.activation_relu_or_gelu = 0
        if isinstance(module, torch.nn.TransformerEncoder):
            module.use_nested_tensor = False


def check_model(model: torch.nn.Module, instead: str) -> None:
    """Raise unless `model` is a module whose layers can be replaced in place.

    instead: the call that takes a Linear.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, torch.nn.Linear):
        raise ValueError(
            "the model is itself a torch.nn.Linear, which cannot be replaced in place: "
            f"call {instead}"
        )


def _is_in(name: str, skip: Iterable[str]) -> bool:
    return any(f".{wanted}." in f".{name}." for wanted in skip)
