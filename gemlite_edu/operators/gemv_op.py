"""The CUDA GEMVs as one torch operator, `gemlite_edu::gemv`, which torch.compile supports.

The operator runs CPU tensors in the simulator and CUDA tensors on their GPU's current stream; for
meta tensors it returns only a shape.
"""

import json
from dataclasses import replace as with_fields
from functools import cache

import torch

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.numbers.checks import check_no_grad, per_group
from gemlite_edu.numbers.quantize import check_nbits
from gemlite_edu.runners.load import load


@torch.library.custom_op("gemlite_edu::gemv", mutates_args=())
def gemv(
    x: torch.Tensor,
    W_packed: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    kernel: str,
    nbits: int | None,
    group_size: int | None,
    texts: str,
) -> torch.Tensor:
    """y (M, N) by `load(kernel, nbits, group_size=...)`; texts: JSON of the texts for its holes."""
    return _loaded(kernel, nbits, x.dtype, group_size, texts)(x, W_packed, scales, zeros)


@gemv.register_fake
def _(x, W_packed, scales, zeros, kernel, nbits, group_size, texts):
    devices = {tensor.device for tensor in (x, W_packed, scales, zeros)}
    torch._check(len(devices) == 1, lambda: f"all tensors must be on one device, got {devices}")
    words = (
        with_fields(KERNELS[kernel], nbits=nbits).layout(x.shape[1]).packed_shape(1, x.shape[1])[1]
    )
    torch._check(
        W_packed.shape[1] == words,
        lambda: f"x has K = {x.shape[1]}, for which W_packed must have {words} columns",
    )
    dtype = torch.int32 if x.dtype == torch.int8 else x.dtype
    return x.new_empty((x.shape[0], W_packed.shape[0]), dtype=dtype)


@cache
def _loaded(name, nbits, x_dtype, group_size, texts):
    return load(
        name, nbits=nbits, x_dtype=x_dtype, group_size=group_size, replace=json.loads(texts)
    )


class PackedGemv:
    """A kernel on packed weights, with all its compile-time choices, as a torch operator.

    nbits: width of the codes; required even if the kernel's name implies it. kernel, x_dtype,
    group_size, replace: as for `load`. Raises the errors that `load` raises.
    """

    def __init__(self, kernel, nbits, x_dtype, group_size=None, replace=None):
        packed = [name for name in KERNELS if KERNELS[name].is_packed]
        if kernel not in packed:
            raise ValueError(f"kernel must be one of {', '.join(packed)}, got {kernel!r}")
        check_nbits(nbits)
        self.kernel, self.nbits, self.x_dtype, self.group_size = kernel, nbits, x_dtype, group_size
        self.layout = with_fields(KERNELS[kernel], nbits=nbits).layout(None)
        if self.layout.nbits != nbits:
            raise ValueError(f"{kernel} has {self.layout.nbits}-bit weights, got nbits = {nbits}")
        own_nbits = nbits if KERNELS[kernel].takes_nbits else None
        load(kernel, own_nbits, x_dtype, replace, group_size=group_size)
        self.replace = dict(replace or {})
        self._compiled_in = (kernel, own_nbits, group_size, json.dumps(self.replace))

    def __call__(self, x, W_packed, scales, zeros, names=("scales", "zeros")):
        """y (..., N) for x (..., K); error messages call scales and zeros by `names`."""
        self._check_x(x)
        if not isinstance(W_packed, torch.Tensor) or W_packed.dim() != 2:
            raise ValueError("W_packed must be a tensor (N, words)")
        K = x.shape[-1]
        shape = (W_packed.shape[0], K // (self.group_size or K))
        dtype = torch.int32 if self.x_dtype == torch.int8 else torch.float32
        given = zip(names, (scales, zeros), strict=True)
        numbers = [per_group(name, value, shape, dtype, x.device) for name, value in given]
        y = gemv(x.reshape(-1, K), W_packed, *numbers, *self._compiled_in)
        return y.reshape(*x.shape[:-1], y.shape[-1])

    def _check_x(self, x):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"x must be a torch.Tensor, got {type(x).__name__}")
        if x.dtype != self.x_dtype:
            raise TypeError(f"x must be {self.x_dtype}, got {x.dtype}")
        if x.dim() == 0 or x.shape[-1] == 0:
            raise ValueError(f"x must have shape (..., K), K >= 1, got {tuple(x.shape)}")
        check_no_grad("x", x)

    def describe(self):
        """The kernel's arguments, followed by the texts that replace its holes."""
        arguments = f"kernel={self.kernel!r}, nbits={self.nbits}, group_size={self.group_size}"
        texts = "".join(f"\n{name}:\n{text.strip()}" for name, text in self.replace.items())
        return arguments + texts
