"""Re-exports under GemLite's import path `core`, so that its users find the same names."""

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.numbers.dtypes import DType

__all__ = ["DType", "GemLiteLinear"]
