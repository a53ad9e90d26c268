"""The operands of a kernel's call, from weights that a `Problem` drew."""

import torch

from gemlite_edu.packing import (
    BitPlanes3,
    Sparse1in2,
    pack_3bit_planes,
    pack_sparse_1in2,
    pack_warped_int32,
)
from gemlite_lab.bench.problem import WeightFormat, kept_of

_WIDTHS = {BitPlanes3: 3, Sparse1in2: 7}


def format_of(kernel):
    """The `WeightFormat` that a GEMV takes.

    >>> from gemlite_edu import load
    >>> str(format_of(load("gemv_a16wn_fp32", nbits=4, group_size=64)))
    'W4 g64'
    """
    spec = kernel.spec
    if not spec.is_packed:
        return WeightFormat(16)
    make_layout = getattr(spec, "make_layout", None)
    nbits = _WIDTHS.get(make_layout) or spec.nbits
    return WeightFormat(nbits, spec.group_size, make_layout is Sparse1in2)


def operands_of(kernel, weights):
    """(W,) or (W, scales, zeros) for a call of `kernel`, in its layout and its types."""
    spec = kernel.spec
    if not spec.is_packed:
        return (weights,)
    make_layout = getattr(spec, "make_layout", None)
    if make_layout is None:
        return kernel.pack(weights.W_q, weights.scales, weights.zeros)
    numbers = torch.int32 if kernel.x_dtype == torch.int8 else torch.float32
    return _words(make_layout, weights), weights.scales.to(numbers), weights.zeros.to(numbers)


def _words(make_layout, weights):
    if make_layout is BitPlanes3:
        return pack_3bit_planes(weights.W_q)
    if make_layout is Sparse1in2:
        return pack_sparse_1in2(weights.W_q, kept_of(weights))
    return pack_warped_int32(weights.W_q, weights.nbits)
