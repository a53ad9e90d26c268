"""The packed layers among a folder's tensors: their names, forms and CUDA texts."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from gemlite_edu.kernels.errors import UntrustedText
from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.layers.saved_layer import NO_WEIGHT
from gemlite_edu.models.shards import Shards
from gemlite_edu.numbers.format import Format
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.pack import TENSORS
from gemlite_edu.operators.saved import saved_form

TrustedTexts = dict[str, str] | Iterable[dict[str, str]] | None  # {hole: text}
Forms = dict[str, tuple[Form, Format | None]]  # {name of a layer: its form and format}

PARTS = (*TENSORS, "metadata")
_trusted: ContextVar[TrustedTexts] = ContextVar(
    "trusted_texts", default=None
)  # what `trusting` allows


@contextmanager
def trusting(trusted_texts: TrustedTexts) -> Iterator[None]:
    """Let the layers that a library loads meanwhile have these CUDA texts."""
    token = _trusted.set(trusted_texts)
    try:
        yield
    finally:
        _trusted.reset(token)


def trusted_by_caller() -> TrustedTexts:
    """The texts of the `trusting` around this call, or None."""
    return _trusted.get()


def saved_forms(shards: Shards) -> Forms:
    """{name of a packed layer: (`Form`, `Format`)} in `Shards`; ValueError for a damaged one.

    A layer has W_q and metadata; W_q alone may be a weight of the model's own, unless `NO_WEIGHT`
    is beside it.
    """
    names = shards.names()
    layers = [n.removesuffix(".W_q") for n in names if n.endswith(".W_q")]
    layers = [layer for layer in layers if f"{layer}.metadata" in names]
    _check_complete(shards, set(layers))
    with torch.device("cpu"):  # where transformers calls this, new tensors are on meta
        return {layer: _form(shards, layer) for layer in layers}


def _check_complete(shards: Shards, layers: set[str]) -> None:
    """Raise ValueError if a layer that has `NO_WEIGHT` as its weight is not among `layers`."""
    for name in shards.names():
        layer, _, part = name.rpartition(".")
        if part == "weight" and layer not in layers and _is_no_weight(shards.meta(name)):
            lost = [n for n in ("W_q", "metadata") if f"{layer}.{n}" not in shards.names()]
            raise ValueError(
                f"the folder has the packed layer {layer} without its {' and '.join(lost)}: save "
                "the model anew, or copy the whole folder"
            )


def _is_no_weight(weight: torch.Tensor) -> bool:
    return weight.dtype == torch.uint8 and tuple(weight.shape) == (len(NO_WEIGHT),)


def _form(shards: Shards, layer: str) -> tuple[Form, Format | None]:
    on_meta = {name: None for name in TENSORS} | on_meta_of(shards, layer)
    del on_meta["metadata"]
    try:
        return saved_form(shards.read(f"{layer}.metadata"), on_meta)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{layer}.metadata: {error}") from error


def on_meta_of(shards: Shards, layer: str) -> dict[str, torch.Tensor]:
    """{name: tensor on meta} of the tensors of a layer that are saved."""
    present = [name for name in PARTS if f"{layer}.{name}" in shards.names()]
    return {name: shards.meta(f"{layer}.{name}") for name in present}


def trusted_for(
    forms: Forms, trusted_texts: TrustedTexts, where: object
) -> dict[str, dict[str, str]]:
    """{name of layer: texts that it may bring}; raises `UntrustedText` if one is not trusted.

    trusted_texts: {hole: text}, a list of these, or None.
    """
    if not isinstance(trusted_texts, Iterable | None):
        came = type(trusted_texts).__name__
        raise TypeError(
            f"trusted_texts must be a dict {{hole: text}} or a list of them, got {came}"
        )
    trusted = [trusted_texts] if isinstance(trusted_texts, dict) else list(trusted_texts or [])
    if not all(isinstance(texts, dict) for texts in trusted):
        raise TypeError("trusted_texts must be a dict {hole: text}, or a list of such dicts")
    texts_of = {name: format.holes if format else {} for name, (_, format) in forms.items()}
    unknown = []
    for texts in texts_of.values():
        if texts and texts not in trusted and texts not in unknown:
            unknown.append(texts)
    if unknown:
        holes = sorted({hole for texts in unknown for hole in texts})
        raise UntrustedText(
            f"{where} has CUDA text for {' and '.join(holes)}, which would be compiled and run: "
            "read this error's texts, and if you trust them, use "
            "load_quantized(folder, trusted_texts=error.texts)",
            unknown,
        )
    return texts_of


def read_layer(
    shards: Shards, layer: str, texts: dict[str, str], device: torch.device
) -> GemLiteLinear:
    """The `GemLiteLinear` of this name; texts: those that its format has."""
    state = {name: shards.read(f"{layer}.{name}", device) for name in on_meta_of(shards, layer)}
    made = GemLiteLinear(trusted_texts=texts)
    try:
        made.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"{layer} is damaged: {in_one_line(error)}") from error
    return made


def in_one_line(error: Exception) -> str:
    """What a `load_state_dict` says beyond its headline."""
    return "; ".join(line.strip() for line in str(error).splitlines()[1:])
