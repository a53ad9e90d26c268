"""`quantize_`: every linear layer of a model becomes a `GemLiteLinear`, in place."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from tqdm import tqdm

from gemlite_edu.layers.coded_linear import LayerQuantizer, Quantizer, coded_linear, quantizer_of
from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.models import transformers_models
from gemlite_edu.models.linear_layers import (
    DEFAULT_SKIP,
    Model,
    check_replaceable,
    linear_layers,
    put,
)
from gemlite_edu.models.summary import LayerSummary, QuantizationSummary
from gemlite_edu.numbers.checks import FLOATS, check_dense, check_kernels_reach
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.nearest import check_scales, quantize_to_format
from gemlite_edu.numbers.quantize import check_finite, check_matrix_of_floats


def quantize_(
    model: Model,
    format: Format | int,
    group_size: int | None = None,
    skip: Collection[str] | None = DEFAULT_SKIP,
    quantizer: Quantizer | LayerQuantizer | Literal["hqq"] | None = None,
) -> Model:
    """Replace the torch.nn.Linear layers of `model` by `GemLiteLinear`, in place; return the model.

    model: any torch.nn.Module but a Linear itself, on CPUs or GPUs, with float16, bfloat16 or
        float32 weights. Each new layer is on the device of the old one, and has its dtype and bias;
        a layer with several names stays one layer. Subclasses of Linear stay as they are.
    format: a `Format`, such as NF4 or your own; or 1 to 8, for integers of so many bits with a
        float16 scale and a zero.
    group_size: how many neighbours along K share a scale; None: as the format says, which for an
        int is one scale per channel.
    skip: names of layers, or of modules with all their layers, to leave alone; "mlp" and "1.mlp"
        both name "layers.1.mlp". None: leave none alone.
    quantizer: a function from (W (N, K), format) to a `CodedWeight`; "hqq" for the hqq library's,
        with integer formats; `calibrated(model, batches)` for GPTQ's; None: `quantize_to_format`.
        Your function gets a copy of W.

    Layers are replaced one by one, so what is needed beyond the model's memory is about a byte for
    each weight of its largest layer, and less than half a GB for temporary tensors; a quantizer of
    yours adds the copy of that layer's weights. Afterwards `model.quantization_summary` has sizes
    and errors: print it. Everything that can be known is checked first; TypeError or ValueError
    then means that the model is as before. If your own quantizer raises, or returns something else
    than a `CodedWeight` of the layer's shape, the layers before are quantized, and another call
    continues with the rest.

    The new layers have no backward: use torch.no_grad(), or requires_grad_(False). Those of float32
    models multiply x after rounding each number to float16's 11 bits, with a scale for each token
    that keeps its range; sums and y stay float32.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU())
    >>> quantize_(model.half(), 4, group_size=32)[0]
    GemLiteLinear(64 to 32, W4 per 32, FP16 to FP16)
    """
    format = _as_format(format, group_size)
    layers = linear_layers(model, skip)
    check_replaceable(model, layers)
    quantizer = quantizer_of(quantizer, format)
    for name in layers:
        with _naming(name):
            _check_layer(model.get_submodule(name), format, quantizer)
    done, earlier = [], sum(isinstance(module, GemLiteLinear) for module in model.modules())
    for name, names in tqdm(layers.items(), desc="Quantizing", unit="layer"):
        try:
            with _naming(name):
                done.append(_replace(model, names, format, quantizer))
        except Exception as error:
            error.add_note(
                f"layers quantized before it: {len(done)}; call quantize_ again for the rest"
            )
            raise
    marked: Any = model
    marked.quantization_summary = QuantizationSummary(tuple(done), earlier, _elsewhere(model))
    if transformers_models.is_one(model):
        transformers_models.attach(model)
    return model


def _elsewhere(model: torch.nn.Module) -> int:
    """How many parameters of the model are in no `GemLiteLinear`; a shared one counts once."""
    packed = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, GemLiteLinear)
        for parameter in module.parameters()
    }
    return sum(p.numel() for p in model.parameters() if id(p) not in packed)


def _replace(
    model: torch.nn.Module,
    names: Sequence[str],
    format: Format,
    quantizer: Quantizer | LayerQuantizer,
) -> LayerSummary:
    """Quantize the layer with these names and put the new one in its place."""
    linear: Any = model.get_submodule(names[0])
    W, bias = linear.weight.detach(), linear.bias
    q = coded_linear(linear, format, quantizer)
    layer = GemLiteLinear.from_coded(q, bias, W.dtype)
    packed = sum(tensor.nbytes for tensor in layer.parameters())
    packed -= 0 if layer.bias is None else layer.bias.nbytes
    summary = LayerSummary(names[0], tuple(W.shape), W.nbytes, packed, q.error(W))
    put(model, names, layer)
    return summary


def _check_layer(linear: Any, format: Format, quantizer: Quantizer | LayerQuantizer) -> None:
    """Raise whatever quantizing and packing this layer would raise."""
    W, bias = linear.weight.detach(), linear.bias
    if W.is_meta:
        raise ValueError("the weight has no numbers, because it is on meta: load the model first")
    check_dense("the weight", W, FLOATS)
    check_kernels_reach("the weight", W)
    check_matrix_of_floats(W)
    format.groups_of(W.shape[1])
    if bias is not None:
        check_dense("the bias", bias, FLOATS)
        if not bias.isfinite().all():
            raise ValueError("the bias has NaN or infinite entries: clean it before quantizing")
    if hasattr(quantizer, "check_layer"):
        quantizer.check_layer(linear)
    elif quantizer is not quantize_to_format:
        if not W.isfinite().all():
            check_finite(W)
        return
    check_scales(W, format)
    GemLiteLinear.from_coded(quantize_to_format(W[:1], format), dtype=W.dtype)


def _as_format(format: Format | int, group_size: int | None) -> Format:
    if isinstance(format, int):
        format = Format(format)
    if not isinstance(format, Format):
        came = type(format).__name__
        raise TypeError(f"format must be an int from 1 to 8, or a Format such as NF4, got {came}")
    return format if group_size is None else replace(format, group_size=group_size)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Put the name of the layer before the sentence of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
