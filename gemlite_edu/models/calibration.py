"""`calibrated`: a quantizer for `quantize_` that knows the activations of each layer."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch

from gemlite_edu.layers.coded_linear import Quantizer
from gemlite_edu.models.linear_layers import check_model, linear_layers, named_layers
from gemlite_edu.numbers.checks import check_size
from gemlite_edu.numbers.gptq import quantize_gptq

_BYTES = torch.float32.itemsize


def calibrated(
    model: torch.nn.Module, batches: Iterable[Any], most_bytes: int = 2**31
) -> "Calibrated":
    """A quantizer for `quantize_(model, format, quantizer=...)`: GPTQ's, on activations of `model`.

    batches: what the model takes, in a list, or anything else that can be read more than once: each
        batch is called as model(batch), or as model(**batch) if it is a mapping.
    most_bytes: of the hessians that are kept at once, 4 K**2 bytes for each torch.nn.Linear with K
        inputs; one hessian is always kept.

    The hessian of a layer is the sum of x xᵀ over all its inputs x. They are collected for as many
    layers as fit, by running the model on all batches without gradients; the first run is here.
    The next run begins when `quantize_` comes to a layer without a hessian, so later layers then
    see what the quantized layers before them put out. Call `model.eval()` before. The errors in
    `model.quantization_summary` are of weights; they are larger than after rounding, while those of
    the outputs are usually smaller; with 1 bit they may be larger, too.

    Raises TypeError or ValueError for a model without torch.nn.Linear or for other batches. The
    quantizer raises ValueError for a layer of another model, or one that no batch reached, and
    whatever `quantize_gptq` raises. `quantize_` checks the hessians that are there before it
    replaces a layer; those of later runs are checked when they come.
    Source: Frantar et al. 2022 (GPTQ), arXiv 2210.17323.

    >>> from gemlite_edu import INT4, quantize_
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU()).eval()
    >>> quantize_(model, INT4, quantizer=calibrated(model, [torch.randn(100, 64)]))[0]
    GemLiteLinear(64 to 32, W4 per channel, FP16 to FP32)
    """
    check_model(model, "quantize_gptq(W, format, hessian)")
    for name in linear_layers(model, skip=None):
        if model.get_submodule(name).weight.is_meta:
            raise ValueError(f"the weight of {name} is on meta, without numbers: load the model")
    check_size("most_bytes", most_bytes)
    if isinstance(batches, torch.Tensor | Mapping | str) or not isinstance(batches, Iterable):
        came = type(batches).__name__
        raise TypeError(f"batches must be a list of inputs of the model, got a {came}")
    if iter(batches) is batches:
        raise TypeError("batches can be read only once, and are needed more often: pass a list")
    if next(iter(batches), None) is None:
        raise ValueError("batches are empty: give the model at least one input")
    return Calibrated(model, batches, most_bytes)


class Calibrated:
    """The quantizer that `calibrated` returns: `of_layer` gives the one of each layer."""

    def __init__(self, model: torch.nn.Module, batches: Iterable[Any], most_bytes: int) -> None:
        self._model, self._batches, self._most_bytes = model, batches, most_bytes
        # {layer: (K, K) float32}; replaced layers leave it
        self._hessians: WeakKeyDictionary[torch.nn.Linear, torch.Tensor] = WeakKeyDictionary()
        self._collect(0)

    def of_layer(self, linear: torch.nn.Linear) -> Quantizer:
        """The function from (W, format) to a `CodedWeight` for this torch.nn.Linear."""
        if linear not in self._hessians:
            self.check_layer(linear)
            self._collect(self._layers().index(linear))
        self.check_layer(linear)
        return partial(quantize_gptq, hessian=self._hessians[linear])

    def check_layer(self, linear: torch.nn.Linear) -> None:
        """Raise ValueError for a layer of another model, or a hessian that cannot be used."""
        hessian = self._hessians.get(linear)
        if hessian is None and linear not in self._layers():
            raise ValueError(
                "this layer is not in the model that was calibrated: call "
                "calibrated(model, batches) with the model that you quantize"
            )
        if hessian is not None and not hessian.isfinite().all():
            raise ValueError(
                "the layer got NaN, infinite or too large inputs from the batches of "
                "calibrated(model, batches): look for them there, or skip the layer"
            )
        if hessian is not None and not hessian.any():
            raise ValueError(
                "the layer got no inputs but zeros from the batches of calibrated(model, batches): "
                "give others, or skip the layer"
            )

    def _layers(self) -> list[torch.nn.Linear]:
        """The linear layers that the model still has, in its order."""
        names = named_layers(self._model, lambda module: type(module) is torch.nn.Linear)
        layers = (self._model.get_submodule(name) for name in names)
        return [layer for layer in layers if isinstance(layer, torch.nn.Linear)]

    def _collect(self, first: int) -> None:
        """Run the model for the hessians of the layers from the one at `first` on that fit."""
        self._hessians = WeakKeyDictionary()
        room = self._most_bytes
        for linear in self._layers()[first:]:
            K, device = linear.in_features, linear.weight.device
            room -= _BYTES * K**2
            if room < 0 and self._hessians:
                break
            self._hessians[linear] = torch.zeros(K, K, device=device)
        with _hooked(self._hessians, self._model), torch.no_grad():
            for number, batch in enumerate(self._batches):
                _run(self._model, batch, number)


def _run(model: torch.nn.Module, batch: Any, number: int) -> None:
    """Call the model on one batch; TypeError if it does not take this kind of batch."""
    try:
        model(**batch) if isinstance(batch, Mapping) else model(batch)
    except (AttributeError, TypeError) as error:
        raise TypeError(
            f"the model does not take batch {number}, a {type(batch).__name__} ({error}): each "
            "batch is called as model(batch), or as model(**batch) if it is a dict; give a tensor "
            "where a DataLoader has (tensor,)"
        ) from error


@contextmanager
def _hooked(
    hessians: MutableMapping[torch.nn.Linear, torch.Tensor], model: torch.nn.Module
) -> Iterator[None]:
    """Add x xᵀ of each input x to the hessian of its layer, for the time of a `with`."""

    def add(
        linear: torch.nn.Linear, args: tuple[torch.Tensor, ...], named: dict[str, torch.Tensor]
    ) -> None:
        x = args[0] if args else named["input"]
        if x.shape[-1:] != (linear.in_features,):
            name = next(name for name, module in model.named_modules() if module is linear)
            wanted = f"(..., {linear.in_features})"
            raise ValueError(f"a batch gives {name} x {tuple(x.shape)}, which takes {wanted}")
        x = x.detach().reshape(-1, linear.in_features).float()
        hessians[linear].addmm_(x.T, x)

    hooks = [linear.register_forward_pre_hook(add, with_kwargs=True) for linear in hessians]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
