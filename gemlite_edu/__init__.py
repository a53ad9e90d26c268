"""Low-bit GPU kernels to learn from and to use.

Importing this touches no GPU, no compiler and no triton.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "QuantizedWeight": "quantize",
    "quantize_linear": "quantize",
    "quantize_ternary": "quantize",
    "pack_warped_int32": "packing",
    "unpack_warped_int32": "packing",
    "pack_2xint4": "packing",
    "unpack_2xint4": "packing",
    "pack_bitnet_2bit": "packing",
    "unpack_bitnet_2bit": "packing",
    "quantize_activations_int8": "activations",
    "ScaleConvention": "ternary_scales",
    "BitLinear": "ternary_linear",
    "load": "kernels",
    "DType": "dtypes",
    "GemLiteMatmul": "matmul",
    "GemvLinear": "gemv_linear",
    "GemLiteLinear": "linear",
    "triton_mixed_mm": "mixed_mm",
    "Int4Linear": "int4_linear",
    "check": "checker",
    "hint": "checker",
    "show": "draw",
    "give_up": "lesson",
    "solution": "lesson",
}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'gemlite_edu' has no attribute {name!r}")
    return getattr(import_module(f"gemlite_edu.{_HOME[name]}"), name)
