"""What a `GemLiteLinear` is without its tensors: sizes, widths, types."""

from dataclasses import dataclass, fields

import torch

from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators.layer_operands import is_int

_INPUTS = (DType.FP16, DType.BF16, DType.FP8, DType.FP8e5, DType.INT8)
_OUTPUTS = (DType.FP16, DType.BF16, DType.FP32, DType.FP8, DType.FP8e5, DType.INT32)
_ACCUMULATORS = (None, DType.FP32, DType.FP16, DType.INT32)
_WIDTHS = (16, 8, 4, 3, 2, 1)
_DTYPES = (None, *DType)  # a saved layer has their place in it
_METADATA = 12  # ints


@dataclass(frozen=True)
class LayerForm:
    """The arguments of `GemLiteLinear`, of which it has attributes. Raises for what cannot be."""

    W_nbits: int
    group_size: int | None
    in_features: int
    out_features: int
    input_dtype: DType
    output_dtype: DType
    acc_dtype: DType | None
    scaled_activations: bool

    def __post_init__(self):
        if not is_int(self.W_nbits) or self.W_nbits not in _WIDTHS:
            raise ValueError(f"W_nbits must be 16, 8, 4, 3, 2 or 1, got {self.W_nbits!r}")
        for name in ("in_features", "out_features"):
            if not is_int(getattr(self, name)):
                came = getattr(self, name)
                raise ValueError(f"{name} must be an int of at least 1, got {came!r}")
        group_size, K = self.group_size, self.in_features
        if group_size is not None and (not is_int(group_size) or K % group_size):
            raise ValueError(
                f"group_size = {group_size!r} does not divide in_features = {K}: choose a divisor, "
                "or None for one scale per channel"
            )
        if not isinstance(self.scaled_activations, bool):
            came = self.scaled_activations
            raise TypeError(f"scaled_activations must be True or False, got {came!r}")
        self._check_dtypes()

    def _check_dtypes(self):
        allowed = {"input_dtype": _INPUTS, "output_dtype": _OUTPUTS, "acc_dtype": _ACCUMULATORS}
        for name, dtypes in allowed.items():
            if getattr(self, name) not in dtypes:
                takes = ", ".join(str(dtype) for dtype in dtypes)
                raise ValueError(f"{name} must be one of {takes}, got {getattr(self, name)!r}")
        if self.W_nbits == 16 and self.input_dtype not in (DType.FP16, DType.BF16):
            raise ValueError(f"W_nbits 16 is for FP16 and BF16 x, not for {self.input_dtype}")
        if self.acc_dtype == DType.INT32 and self.input_dtype != DType.INT8:
            raise ValueError(f"acc_dtype INT32 is for INT8 x, not for {self.input_dtype}")
        if self.acc_dtype == DType.FP16 and self.input_dtype in (DType.BF16, DType.INT8):
            raise ValueError(f"acc_dtype FP16 is for FP16 and FP8 x, not for {self.input_dtype}")

    @property
    def groups(self):
        """Groups of a channel."""
        return self.in_features // (self.group_size or self.in_features)

    def to_ints(self):
        """All of it as ints, for a file."""
        values = (getattr(self, field.name) for field in fields(self))
        return [_DTYPES.index(v) if isinstance(v, DType) else int(v or 0) for v in values]

    @staticmethod
    def from_ints(values):
        """The inverse of `to_ints`. Raises ValueError for other ints."""
        nbits, group_size, K, N, *dtypes, scaled = values
        if not all(0 <= dtype < len(_DTYPES) for dtype in dtypes) or scaled not in (0, 1):
            raise ValueError(f"no layer is saved as {values}")
        dtypes = (_DTYPES[dtype] for dtype in dtypes)
        return LayerForm(nbits, group_size or None, K, N, *dtypes, bool(scaled))


def read_metadata(metadata):
    """(LayerForm, ints of `LayerWeights`) of a saved layer's metadata."""
    if metadata.is_meta:
        raise ValueError("it has no numbers: it is on meta")
    if metadata.dtype != torch.int64 or tuple(metadata.shape) != (_METADATA,):
        raise ValueError(f"it must be {_METADATA} ints, got {tuple(metadata.shape)}")
    ints = metadata.tolist()
    return LayerForm.from_ints(ints[:8]), ints[8:]
