"""The public names, for type checkers, which do not see what `__getattr__` finds."""

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault, KernelTextError, UntrustedText
from gemlite_edu.kernels.machine import H200, shared_bytes_per_block
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.kernels.triton import configs
from gemlite_edu.kernels.triton import texts as triton_texts
from gemlite_edu.layers.bit_linear import BitLinear
from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.layers.gemlite_matmul import GemLiteMatmul
from gemlite_edu.layers.gemv_linear import GemvLinear
from gemlite_edu.layers.int4_linear import Int4Linear
from gemlite_edu.models.calibration import calibrated
from gemlite_edu.models.files import load_quantized, save_quantized
from gemlite_edu.models.load_checkpoint import load_checkpoint
from gemlite_edu.models.quantize_model import quantize_
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.numbers.activations import (
    quantize_activations_int8,
    scale_activations_fp8,
    scale_activations_int8,
)
from gemlite_edu.numbers.bounds import factored_error_bound
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.formats import (
    FP4_E2M1,
    FP6_E2M3,
    FP6_E3M2,
    FP8_E4M3,
    INT1,
    INT2,
    INT3,
    INT4,
    INT5,
    INT6,
    INT7,
    INT8,
    MXFP4,
    NF4,
    NVFP4,
    log2_format,
)
from gemlite_edu.numbers.gptq import quantize_gptq
from gemlite_edu.numbers.nearest import quantize_to_format
from gemlite_edu.numbers.quantize import QuantizedWeight, quantize_linear, quantize_ternary
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.numbers.ternary_scales import ScaleConvention
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.operators import choose as rules
from gemlite_edu.operators import mixed_mm, triton_product, tuning
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import triton_mixed_mm
from gemlite_edu.operators.triton_product import Epilogue
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing import (
    pack_2xint4,
    pack_bitnet_2bit,
    pack_warped_int32,
    unpack_2xint4,
    unpack_bitnet_2bit,
    unpack_warped_int32,
)
from gemlite_edu.runners import info, simulator
from gemlite_edu.runners.interpreter.loads import count_loads
from gemlite_edu.runners.interpreter.operations import count_operations
from gemlite_edu.runners.load import load
from gemlite_edu.runners.simulator.record import Window

__version__: str
__all__ = [
    "BitLinear",
    "ChannelScaleMode",
    "CodedWeight",
    "DType",
    "Epilogue",
    "FP4_E2M1",
    "FP6_E2M3",
    "FP6_E3M2",
    "FP8_E4M3",
    "Format",
    "GemLiteLinear",
    "GemLiteMatmul",
    "GemvLinear",
    "H200",
    "INT1",
    "INT2",
    "INT3",
    "INT4",
    "INT5",
    "INT6",
    "INT7",
    "INT8",
    "Int4Linear",
    "Int4Weight",
    "KernelFault",
    "KernelTextError",
    "MXFP4",
    "NF4",
    "NVFP4",
    "PackedWeight",
    "QuantizedWeight",
    "ScaleConvention",
    "ScaledProduct",
    "UntrustedText",
    "WeightMode",
    "Window",
    "bounds",
    "calibrated",
    "configs",
    "count_loads",
    "count_operations",
    "factored_error_bound",
    "info",
    "load",
    "load_checkpoint",
    "load_quantized",
    "log2_format",
    "mixed_mm",
    "pack_2xint4",
    "pack_bitnet_2bit",
    "pack_warped_int32",
    "pair_table",
    "quantize_",
    "quantize_activations_int8",
    "quantize_gptq",
    "quantize_linear",
    "quantize_ternary",
    "quantize_to_format",
    "reference",
    "rules",
    "save_quantized",
    "scale_activations_fp8",
    "scale_activations_int8",
    "shared_bytes_per_block",
    "simulator",
    "sources",
    "triton_mixed_mm",
    "triton_product",
    "triton_texts",
    "tuning",
    "unpack_2xint4",
    "unpack_bitnet_2bit",
    "unpack_warped_int32",
]
