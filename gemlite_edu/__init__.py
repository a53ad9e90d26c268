"""Low-bit GPU kernels to learn from and to use.

Importing this touches no GPU, no compiler and no triton.
"""

from importlib import import_module

from gemlite_edu.models.registration import register_when_imported

__version__ = "0.2.0"

_NAMES_OF = {
    "numbers.activations": (
        "quantize_activations_int8",
        "scale_activations_fp8",
        "scale_activations_int8",
    ),
    "numbers.bounds": ("factored_error_bound",),
    "numbers.coded_weight": ("CodedWeight",),
    "numbers.dtypes": ("DType",),
    "kernels.errors": ("KernelFault", "KernelTextError", "UntrustedText"),
    "numbers.format": ("Format",),
    "numbers.formats": (
        *("INT1", "INT2", "INT3", "INT4", "INT5", "INT6", "INT7", "INT8"),
        *("NF4", "FP4_E2M1", "MXFP4", "NVFP4", "FP6_E2M3", "FP6_E3M2", "FP8_E4M3"),
        "log2_format",
    ),
    "numbers.gptq": ("quantize_gptq",),
    "numbers.nearest": ("quantize_to_format",),
    "numbers.quantize": ("QuantizedWeight", "quantize_linear", "quantize_ternary"),
    "numbers.reference": ("ScaledProduct",),
    "numbers.ternary_scales": ("ScaleConvention",),
    "numbers.weight_modes": ("ChannelScaleMode", "WeightMode"),
    "packing": (
        "pack_2xint4",
        "pack_bitnet_2bit",
        "pack_warped_int32",
        "unpack_2xint4",
        "unpack_bitnet_2bit",
        "unpack_warped_int32",
    ),
    "kernels.machine": ("H200", "shared_bytes_per_block"),
    "kernels.pair_table": ("pair_table",),
    "runners.interpreter.loads": ("count_loads",),
    "runners.interpreter.operations": ("count_operations",),
    "runners.load": ("load",),
    "runners.simulator.record": ("Window",),
    "operators.int4_weight": ("Int4Weight",),
    "operators.mixed_mm": ("triton_mixed_mm",),
    "operators.triton_product": ("Epilogue",),
    "operators.weight": ("PackedWeight",),
    "layers.bit_linear": ("BitLinear",),
    "layers.gemlite_linear": ("GemLiteLinear",),
    "layers.gemlite_matmul": ("GemLiteMatmul",),
    "layers.gemv_linear": ("GemvLinear",),
    "layers.int4_linear": ("Int4Linear",),
    "models.calibration": ("calibrated",),
    "models.files": ("load_quantized", "save_quantized"),
    "models.load_checkpoint": ("load_checkpoint",),
    "models.quantize_model": ("quantize_",),
}
_MODULES = {
    "bounds": "numbers.bounds",
    "configs": "kernels.triton.configs",
    "info": "runners.info",
    "mixed_mm": "operators.mixed_mm",
    "reference": "numbers.reference",
    "rules": "operators.choose",
    "simulator": "runners.simulator",
    "sources": "kernels.sources",
    "triton_product": "operators.triton_product",
    "triton_texts": "kernels.triton.texts",
    "tuning": "operators.tuning",
}
_HOME = {name: module for module, names in _NAMES_OF.items() for name in names}
__all__ = [*_HOME, *_MODULES]


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"gemlite_edu.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'gemlite_edu' has no attribute {name!r}")
    return getattr(import_module(f"gemlite_edu.{_HOME[name]}"), name)


def __dir__():
    return sorted([*__all__, "__version__"])


register_when_imported()
