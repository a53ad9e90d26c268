"""`calibrated`: a quantizer for `quantize_` that knows the activations of each layer."""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from weakref import WeakKeyDictionary

import torch

from gemlite_edu.models.linear_layers import check_model, linear_layers, named_layers
from gemlite_edu.numbers.checks import check_size
from gemlite_edu.numbers.gptq import quantize_gptq

_BYTES = torch.float32.itemsize


def calibrated(model, batches, most_bytes=2**31):
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
    the outputs are smaller.

    Raises TypeError or ValueError for a model without torch.nn.Linear or for other batches. The
    quantizer raises ValueError for a layer of another model, or one that no batch reached, and
    whatever `quantize_gptq` raises.
    Source: Frantar et al. 2022 (GPTQ), arXiv 2210.17323.

    >>> from gemlite_edu import INT4, quantize_
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU()).eval()
    >>> quantize_(model, INT4, quantizer=calibrated(model, [torch.randn(100, 64)]))[0]
    GemLiteLinear(64 to 32, W4 per channel, FP16 to FP32)
    """
    check_model(model, "quantize_gptq(W, format, hessian)")
    linear_layers(model, skip=None)
    check_size("most_bytes", most_bytes)
    if isinstance(batches, torch.Tensor | Mapping) or not isinstance(batches, Iterable):
        came = type(batches).__name__
        raise TypeError(f"batches must be a list of inputs of the model, got a {came}")
    if iter(batches) is batches:
        raise TypeError("batches can be read only once, and are needed more often: pass a list")
    return Calibrated(model, batches, most_bytes)


class Calibrated:
    """The quantizer that `calibrated` returns: `of_layer` gives the one of each layer."""

    def __init__(self, model, batches, most_bytes):
        self._model, self._batches, self._most_bytes = model, batches, most_bytes
        self._hessians = WeakKeyDictionary()  # {layer: (K, K) float32}; replaced layers leave it
        self._collect(0)

    def of_layer(self, linear):
        """The function from (W, format) to a `CodedWeight` for this torch.nn.Linear."""
        if linear not in self._hessians:
            layers = self._layers()
            if linear not in layers:
                raise ValueError(
                    "this layer is not in the model that was calibrated: call "
                    "calibrated(model, batches) with the model that you quantize"
                )
            self._collect(layers.index(linear))
        hessian = self._hessians[linear]
        if not hessian.any():
            raise ValueError(
                "the layer got no inputs but zeros from the batches of calibrated(model, batches): "
                "give others, or skip the layer"
            )
        return partial(quantize_gptq, hessian=hessian)

    def _layers(self):
        """The linear layers that the model still has, in its order."""
        names = named_layers(self._model, lambda module: type(module) is torch.nn.Linear)
        return [self._model.get_submodule(name) for name in names]

    def _collect(self, first):
        """Run the model for the hessians of the layers from the one at `first` on that fit."""
        self._hessians = WeakKeyDictionary()
        room = self._most_bytes
        for linear in self._layers()[first:]:
            K, device = linear.in_features, linear.weight.device
            room -= _BYTES * K**2
            if room < 0 and self._hessians:
                break
            self._hessians[linear] = torch.zeros(K, K, device=device)
        with _hooked(self._hessians), torch.no_grad():
            for batch in self._batches:
                self._model(**batch) if isinstance(batch, Mapping) else self._model(batch)


@contextmanager
def _hooked(hessians):
    """Add x xᵀ of each input x to the hessian of its layer, for the time of a `with`."""

    def add(linear, args):
        (x,) = args
        x = x.detach().reshape(-1, linear.in_features).float()
        hessians[linear].addmm_(x.T, x)

    hooks = [linear.register_forward_pre_hook(add) for linear in hessians]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
