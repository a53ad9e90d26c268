"""The kernels of this package."""

import hashlib
from functools import cache, partial

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.packing import (
    BitPlanes3,
    Sparse1in2,
    pack_3bit_planes,
    pack_sparse_1in2,
    pack_warped_int32,
)
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.problem import kept_of

_load = cache(load)


def _why_not(name, problem):
    """What the kernel takes, if that is not this problem."""
    kernel, weights = KERNELS[name], problem.weights
    if problem.transposed:
        return "not transposed"
    if not kernel.is_packed:
        return "" if weights.nbits == 16 else "unquantized weights"
    if weights.nbits == 16:
        return "packed weights"
    if kernel.make_layout is Sparse1in2:
        return "" if (weights.nbits, weights.is_sparse) == (7, True) else "1:2 sparse 7-bit weights"
    if kernel.make_layout is BitPlanes3:
        return "" if (weights.nbits, weights.is_sparse) == (3, False) else "3-bit weights"
    return _why_no_groups(name, weights) if not weights.is_sparse else "dense weights"


def _why_no_groups(name, weights):
    has_float_scales = torch.int8 not in KERNELS[name].x_dtypes
    return "" if has_float_scales or not weights.group_size else "integer scales, none in groups"


def _prepare(name, weights, problem):
    if isinstance(weights, torch.Tensor):
        kernel = _load(name)
        return Prepared(lambda x: kernel(x, weights), (weights,))
    launch = KERNELS[name]
    kernel = _load(
        name,
        nbits=weights.nbits if launch.takes_nbits else None,
        group_size=problem.weights.group_size,
    )
    numbers = torch.int32 if torch.int8 in launch.x_dtypes else torch.float32
    scales, zeros = weights.scales.to(numbers), weights.zeros.to(numbers)
    operands = (_packed(launch, weights), scales, zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


def _packed(launch, weights):
    if launch.make_layout is BitPlanes3:
        return pack_3bit_planes(weights.W_q)
    if launch.make_layout is Sparse1in2:
        return pack_sparse_1in2(weights.W_q, kept_of(weights))
    return pack_warped_int32(weights.W_q, weights.nbits)


def _candidate(name):
    code = " ".join(sources.without_comments(sources.expand(name)).split())
    return Candidate(
        name,
        "gemlite_edu",
        KERNELS[name].x_dtypes[0],
        partial(_why_not, name),
        partial(_prepare, name),
        build=hashlib.sha256(code.encode()).hexdigest()[:8],
    )


CANDIDATES = [_candidate(name) for name in KERNELS]
