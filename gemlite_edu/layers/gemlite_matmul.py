"""`GemLiteMatmul`, which has the API of GemLite's CUDA version."""

import numbers

import torch

from gemlite_edu.numbers.checks import check_int32_range
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators.gemv_op import PackedGemv
from gemlite_edu.packing import pack_warped_int32

_RESULTS = {DType.FP16: DType.FP16, DType.BF16: DType.BF16, DType.INT8: DType.INT32}


class GemLiteMatmul:
    """y = x ((W_uint - w_zero) / w_scale)ᵀ with packed codes. Note that the scale divides here.

    W_nbits: width of the codes, 1 to 8. input_dtype: FP16 or BF16, with results of the same dtype,
    or INT8, with unscaled INT32 results.
    group_size: how many neighbours along K share a scale and zero; None: the whole row.
    kernel: a name that `load` knows; None means "gemv_a16wn_fp32", or "gemv_a8wn_dp4a" for INT8.
    The kernel determines the layout of W_packed.
    replace: {hole: CUDA text}, e.g. your own dequant_dot; see `load`.
    Source: GemLite (CUDA version), which takes a single zero and scale, and M = 1.

    >>> matmul = GemLiteMatmul(W_nbits=4, input_dtype=DType.FP16, output_dtype=DType.FP16)
    >>> W_packed = GemLiteMatmul.pack_warped_int32(torch.full((1, 32), 9, dtype=torch.uint8), 4)
    >>> matmul.forward(torch.ones(1, 32).half(), W_packed, 8, 4.0)
    tensor([[8.]], dtype=torch.float16)
    """

    pack_warped_int32 = staticmethod(pack_warped_int32)  # packs words for the kernels named wn

    def __init__(
        self,
        W_nbits: int,
        input_dtype: DType = DType.FP16,
        output_dtype: DType | None = None,
        group_size: int | None = None,
        kernel: str | None = None,
        replace: dict[str, str] | None = None,
    ) -> None:
        if not isinstance(input_dtype, DType) or input_dtype not in _RESULTS:
            takes = ", ".join(map(str, _RESULTS))
            raise ValueError(f"input_dtype must be one of {takes}, got {input_dtype}")
        self.input_dtype, self.output_dtype = input_dtype, _RESULTS[input_dtype]
        if output_dtype not in (None, self.output_dtype):
            raise ValueError(
                f"output_dtype must be {self.output_dtype} for {input_dtype}, got {output_dtype}: "
                "cast the result"
            )
        if kernel is None:
            kernel = "gemv_a8wn_dp4a" if input_dtype == DType.INT8 else "gemv_a16wn_fp32"
        self._gemv = PackedGemv(kernel, W_nbits, input_dtype.value, group_size, replace)

    def __repr__(self) -> str:
        return f"GemLiteMatmul({self.input_dtype} to {self.output_dtype}, {self._gemv.describe()})"

    def forward(
        self,
        x: torch.Tensor,
        W_packed: torch.Tensor,
        w_zero: torch.Tensor | float,
        w_scale: torch.Tensor | float | None = None,
    ) -> torch.Tensor:
        """y (..., N) for x (..., K).

        W_packed: words from `pack_warped_int32` or from the packer of the kernel's layout. w_zero,
        w_scale: numbers, or tensors (N, 1) or (N, K // group_size). w_scale defaults to 1; INT8
        takes no w_scale and only whole numbers as w_zero. The kernel runs in the simulator for CPU
        tensors, and on the device's current stream for CUDA tensors.
        """
        names = ("w_scale", "w_zero")
        if self.input_dtype != DType.INT8:
            scales = 1 if w_scale is None else _reciprocal(w_scale)
            return self._gemv(x, W_packed, scales, _as(torch.float32, w_zero), names)
        if w_scale is not None:
            raise ValueError("INT8 gives INT32 without scaling: divide the result by w_scale")
        if isinstance(w_zero, int) and isinstance(x, torch.Tensor) and x.dim():
            check_int32_range(x.shape[-1], self._gemv.nbits, 1, w_zero)
        return self._gemv(x, W_packed, 1, _as(torch.int32, w_zero), names)

    __call__ = forward


def _reciprocal(w_scale: torch.Tensor | float) -> torch.Tensor | float:
    if isinstance(w_scale, torch.Tensor):
        return 1 / _as(torch.float32, w_scale)
    if isinstance(w_scale, numbers.Real) and w_scale == 0:
        raise ValueError("w_scale divides, so it must not be 0")
    return 1 / w_scale if isinstance(w_scale, numbers.Real) else w_scale


def _as(dtype: torch.dtype, value: torch.Tensor | float) -> torch.Tensor | float:
    """Cast a tensor to `dtype` if that loses nothing; return anything else unchanged."""
    if isinstance(value, torch.Tensor) and torch.promote_types(value.dtype, dtype) == dtype:
        return value.to(dtype)
    return value
