"""GemLite's `patch_model`: one of its helpers, applied to every layer of a model."""

from collections.abc import Iterable
from typing import Any, Literal

import torch
from tqdm import tqdm

from gemlite_edu.models.device import checked_device
from gemlite_edu.models.linear_layers import (
    Model,
    check_model,
    check_replaceable,
    checked_skip,
    named_layers,
    put,
)
from gemlite_edu.numbers.quantize import check_finite

_TAKES = {"linear": "torch.nn.Linear layers", "hqqlinear": "layers of the hqq library"}


def patch_model(
    model: Model,
    device: torch.device | str,
    processor: type,
    skip_modules: Iterable[str] | None = (),
) -> Model:
    """Replace the layers of `model` by those that a helper makes, in place; return the model.

    processor: a class of `gemlite_edu.helper`. One with `from_linear`, such as A16W8, takes the
    torch.nn.Linear layers; one with `from_hqqlinear`, such as A16Wn, takes hqq's.
    device: where the whole model goes. skip_modules: a list; a layer stays if its name contains
    one of these texts. None: no layer stays.
    The new layers have 16-bit x: a float32 model must become one of 16 bits first.
    Raises TypeError or ValueError before it changes anything, unless the helper itself raises.
    Source: GemLite, helper.py; `quantize_` takes any format and keeps more of the model.
    """
    makes: dict[str | None, Any] = {
        kind: getattr(processor, f"from_{kind}")
        for kind in ("linear", "hqqlinear")
        if hasattr(processor, f"from_{kind}")
    }
    if not isinstance(processor, type) or not makes:
        raise TypeError(f"processor must be a class of gemlite_edu.helper, got {processor!r:.60}")
    device = checked_device(device)
    check_model(model, f"{processor.__name__}(device).from_linear(model)")
    skip_modules = checked_skip(model, skip_modules, "skip_modules", _contains)
    found = named_layers(model, lambda module: _kind_of(module) in makes)
    layers = {
        name: names
        for name, names in found.items()
        if not any(_contains(other, skip_modules) for other in names)
    }
    if not layers:
        outside = f" outside skip_modules = {skip_modules}" if found else ""
        kinds = " or ".join(_TAKES[kind] for kind in _TAKES if kind in makes)
        takes = f"{processor.__name__} takes {kinds}"
        raise ValueError(
            f"{takes}, and the {type(model).__name__} has none{outside}: nothing was changed"
        )
    check_replaceable(model, layers)
    _check_weights(model, layers)
    for name, names in tqdm(layers.items(), desc="Patching", unit="layer"):
        old = model.get_submodule(name).to(device)
        put(model, names, makes[_kind_of(old)](processor(device=device), old))
    return model.to(device)


def _contains(name: str, texts: Iterable[str]) -> bool:
    return any(text in name for text in texts)


def _kind_of(module: torch.nn.Module) -> Literal["linear", "hqqlinear"] | None:
    """The kind of layer, as in the names of the helpers' methods; hqq need not be installed."""
    if type(module) is torch.nn.Linear:
        return "linear"
    is_hqq = isinstance(getattr(module, "meta", None), dict) and hasattr(module, "unpack")
    return "hqqlinear" if is_hqq else None


def _check_weights(model: torch.nn.Module, layers: Iterable[str]) -> None:
    for name in layers:
        module: Any = model.get_submodule(name)
        if _kind_of(module) != "linear":
            continue
        if module.weight.is_meta or module.weight.dtype.itemsize != 2:
            came = f"{module.weight.dtype} on {module.weight.device}"
            raise ValueError(f"{name} must have 16-bit weights, not on meta, got {came}")
        try:
            if not module.weight.isfinite().all():
                check_finite(module.weight.detach())
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
