"""Re-exports under GemLite's import path `helper`, so that its users find the same helpers."""

from gemlite_edu.layers.from_layers import (
    A16W8,
    A8W8_fp8_dynamic,
    A8W8_int8_dynamic,
    A8Wn_dynamic,
    A16Wn,
)
from gemlite_edu.models.patch_model import patch_model

__all__ = [
    "A8W8_fp8_dynamic",
    "A8W8_int8_dynamic",
    "A8Wn_dynamic",
    "A16W8",
    "A16Wn",
    "patch_model",
]
