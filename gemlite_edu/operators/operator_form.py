"""What of a layer is not a tensor, as a text: an operator of torch takes no objects."""

import json
from functools import cache
from typing import NamedTuple

import torch

from gemlite_edu.numbers.dtypes import DType, name_of
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.choose import Problem, machine_for_cuda
from gemlite_edu.operators.layer_operands import fits_16_bits
from gemlite_edu.packing.plane_tiles import PlainTiles, PlaneTiles

_DTYPES = ("x_dtype", "y_dtype", "dot_dtype")


class OperatorForm(NamedTuple):
    """keeps_16_bits: as of `choose.Problem`; dot_dtype: of sums in tensor cores."""

    layout: PlaneTiles | PlainTiles
    mode: WeightMode
    x_dtype: torch.dtype
    y_dtype: torch.dtype
    dot_dtype: torch.dtype
    keeps_16_bits: bool

    @staticmethod
    def of_layer(form, weights):
        """form: a `LayerForm`; weights: the `LayerWeights` of the layer."""
        layout, mode, tensors = weights.layout, weights.mode, weights.tensors
        x_dtype, y_dtype = form.input_dtype.value, form.output_dtype.value
        channel_scales, is_packed = tensors["channel_scales"], layout.nbits is not None
        scales = tensors["scales"] if channel_scales is None else channel_scales
        # Whether a library can multiply by dense weights instead, and round no more than once.
        has_dense_form = is_packed and mode != WeightMode.FMA and not form.scaled_activations
        is_alike = x_dtype == y_dtype and x_dtype.itemsize == 2
        keeps_16_bits = (
            has_dense_form
            and is_alike
            and fits_16_bits(scales, tensors["zeros"], layout.nbits, x_dtype)
        )
        dot_dtype = torch.float16 if form.acc_dtype == DType.FP16 else torch.float32
        return OperatorForm(layout, mode, x_dtype, y_dtype, dot_dtype, keeps_16_bits)

    def text(self):
        """All of it, for `of_text`."""
        layout = {"K": self.layout.K}
        if self.layout.nbits is None:
            layout["dtype"] = name_of(self.layout.dtype)
        else:
            names = ("nbits", "group_size", "word_bits")
            layout |= {name: getattr(self.layout, name) for name in names}
        dtypes = {name: name_of(getattr(self, name)) for name in _DTYPES}
        return json.dumps(
            {"layout": layout, "mode": self.mode.name, "keeps_16_bits": self.keeps_16_bits} | dtypes
        )

    def problem(self, M, N, device, is_captured=False):
        """The `Problem` of M rows of x on the device."""
        operands = self.layout, self.x_dtype, self.y_dtype
        machine = machine_for_cuda(*operands, N, device)
        return Problem(M, N, *operands, self.keeps_16_bits, machine, is_captured)

    @staticmethod
    @cache
    def of_text(text):
        """The inverse of `text`."""
        values = json.loads(text)
        layout, mode = values["layout"], WeightMode[values["mode"]]
        if "dtype" in layout:
            layout = PlainTiles(getattr(torch, layout["dtype"]), layout["K"])
        else:
            layout = PlaneTiles(**layout)
        return OperatorForm(
            layout,
            mode,
            *(getattr(torch, values[name]) for name in _DTYPES),
            values["keeps_16_bits"],
        )
