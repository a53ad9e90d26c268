"""Quantize the weights of a torch.nn.Linear by our quantizer, by hqq's or by the user's."""

from collections.abc import Callable
from typing import Literal, Protocol

import torch

from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.hqq_quantizer import hqq_quantizer
from gemlite_edu.numbers.nearest import quantize_to_format

Quantizer = Callable[[torch.Tensor, Format], CodedWeight]  # takes W (N, K)


class LayerQuantizer(Protocol):
    """An object that has another quantizer for each layer, as `calibrated` returns it."""

    def of_layer(self, linear: torch.nn.Linear) -> Quantizer: ...


def quantizer_of(
    named: Quantizer | LayerQuantizer | Literal["hqq"] | None, format: Format
) -> Quantizer | LayerQuantizer:
    """The function from (W, format) to a `CodedWeight` that `named` stands for.

    named: such a function; "hqq" for hqq's; None for `quantize_to_format`; or an object whose
    `of_layer(linear)` is such a function for one layer, which stays as it is. TypeError otherwise.
    """
    if named is None:
        return quantize_to_format
    if isinstance(named, str) and named == "hqq":
        return hqq_quantizer(format)
    if not callable(named) and not hasattr(named, "of_layer"):
        raise TypeError(
            'quantizer must be a function from (W, format) to a CodedWeight, "hqq" or None, '
            f"got {named!r:.60}"
        )
    return named


def coded_linear(
    linear: torch.nn.Linear, format: Format, quantizer: Quantizer | LayerQuantizer
) -> CodedWeight:
    """What `quantizer`, as `quantizer_of` returns it, makes of the weights of a torch.nn.Linear.

    A quantizer that is not this package's gets a copy, so the linear never changes. Raises
    ValueError for weights on meta, or for codes of another shape than the weights; TypeError for
    what is no `CodedWeight`.
    """
    W = linear.weight.detach()
    if W.is_meta:
        raise ValueError("the weight has no numbers: it is on meta")
    if hasattr(quantizer, "of_layer"):
        quantizer = quantizer.of_layer(linear)
    q = quantizer(W if quantizer is quantize_to_format else W.clone(), format)
    if not isinstance(q, CodedWeight):
        raise TypeError(f"the quantizer must return a CodedWeight, and returned {type(q).__name__}")
    if q.codes.shape != W.shape:
        raise ValueError(
            f"the quantizer got W {tuple(W.shape)} and returned codes {tuple(q.codes.shape)}: "
            "return one code for each weight"
        )
    return q
