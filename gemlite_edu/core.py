"""GemLite's names, where its users look for them."""

from gemlite_edu.dtypes import DType
from gemlite_edu.linear import GemLiteLinear

__all__ = ["DType", "GemLiteLinear"]
