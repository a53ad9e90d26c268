"""Describe in words how a `GemLiteLinear` multiplies rows of x."""

from typing import Any

from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.weight_modes import ChannelScaleMode
from gemlite_edu.operators.choose import MATMUL_TYPES, Problem, choose, limits, refusal


def explained(layer: Any, problem: Problem) -> str:
    """The text of `GemLiteLinear.explain` for a `Problem` of the layer."""
    rule, format = choose(problem), layer.format
    name = rule.matmul_type
    refused = refusal(problem, name)
    scales = ChannelScaleMode.of(layer.channel_scales is not None, layer.scaled_activations)
    lines = [
        f"M = {problem.M}: {name}, {MATMUL_TYPES[name]}",
        f"{problem.weights}:",
        *(
            f"  up to {most} rows: {kernel}" if most else f"  beyond: {kernel}"
            for most, kernel in limits(problem)
        ),
        f"why {name}: {rule.reason}",
        *([f"refused: {refused}"] if refused else []),
        *([f"q: the value of a code, {format}"] if format else []),
        f"weights: {layer.mode.name}, {layer.mode.value}",
        f"y is multiplied by: {scales.value}",
        f"x: {layer.input_dtype.name}, products are added up in {_added_in(layer, name)}, "
        f"y: {layer.output_dtype.name}",
        f"layout: {layer.layout}",
    ]
    return "\n".join(lines)


def _added_in(layer: Any, chosen: str) -> str:
    if layer.acc_dtype == DType.FP16 and chosen in ("GEMM", "GEMM_SPLITK"):
        return "float16"
    return "int32" if layer.input_dtype == DType.INT8 and layer.scales is None else "float32"
