"""What a `GemLiteLinear` does with rows of x, in words."""

from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.weight_modes import ChannelScaleMode
from gemlite_edu.operators.matmul_choices import MATMUL_TYPES, choices


def explained(layer, M, chosen, captured, kind, fast):
    """The text of `GemLiteLinear.explain`.

    chosen, captured: for M rows, in a call and in a CUDA graph. kind, fast: as for `choices`.
    """
    scales = ChannelScaleMode.of(layer.channel_scales is not None, layer.scaled_activations)
    lines = [
        f"M = {M}: {chosen}, {MATMUL_TYPES[chosen]}",
        *([f"  in a CUDA graph: {captured}"] if captured != chosen else []),
        f"{kind}:",
        *(
            f"  up to {limit} rows: {_named(name, kind)}" if limit else f"  beyond: {name}"
            for limit, name in choices(kind, fast)
        ),
        f"weights: {layer.mode.name}, {layer.mode.value}",
        f"y is multiplied by: {scales.value}",
        f"x: {layer.input_dtype.name}, products are added up in {_added_in(layer, chosen)}, "
        f"y: {layer.output_dtype.name}",
        f"layout: {layer.layout}",
    ]
    return "\n".join(lines)


def _named(name, kind):
    if name != "GEMM_FAST":
        return name
    *_, (few, _), _ = choices(kind)
    return f"{name}, or beyond {few} DEQUANTIZE where that should be sooner"


def _added_in(layer, chosen):
    if layer.acc_dtype == DType.FP16 and chosen in ("GEMM", "GEMM_SPLITK"):
        return "float16"
    return "int32" if layer.input_dtype == DType.INT8 and layer.scales is None else "float32"
