"""GemLite's names, where its users look for them."""

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.numbers.dtypes import DType

__all__ = ["DType", "GemLiteLinear"]
