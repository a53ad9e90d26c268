"""Our GEMVs at the memory limit, with x of either type."""

import hashlib
from functools import cache, partial

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.problem import kept_of

_SPARSE = "gemv_a16w7_sparse_fast"
_MOST_ROWS = 64  # 8 rows share a pass over the weights: beyond it is no kernel for so many

_load = cache(load)


def _why_not(name, problem):
    weights = problem.weights
    if problem.transposed or problem.M > _MOST_ROWS:
        return f"not transposed, M up to {_MOST_ROWS}"
    if weights.is_sparse != (name == _SPARSE):
        return "1:2 sparse 7-bit weights" if name == _SPARSE else "dense weights"
    try:
        nbits = weights.nbits if FAST_KERNELS[name].takes_nbits else None
        FAST_KERNELS[name].completed(nbits, group_size=weights.group_size)
    except ValueError as error:
        return str(error)
    return ""


def _prepare(name, x_dtype, weights, problem):
    group_size, factors = problem.weights.group_size, (weights.scales, weights.zeros)
    if name == _SPARSE:
        kernel = _load(name, x_dtype=x_dtype, group_size=group_size)
        operands = kernel.pack(weights.W_q, kept_of(weights), *factors)
    else:
        kernel = _load(name, weights.nbits, x_dtype, group_size=group_size)
        operands = kernel.pack(weights.W_q, *factors)
    return Prepared(lambda x: kernel(x, *operands), operands)


def _candidate(name, x_dtype, end):
    texts = "".join(map(sources.expand, FAST_KERNELS[name].texts))
    return Candidate(
        name + end,
        "gemlite_edu",
        x_dtype,
        partial(_why_not, name),
        partial(_prepare, name, x_dtype),
        build=hashlib.sha256(texts.encode()).hexdigest()[:8],
    )


CANDIDATES = [
    _candidate(name, x_dtype, end)
    for name in FAST_KERNELS
    for x_dtype, end in ((torch.float16, ""), (torch.bfloat16, "_bf16"))
]
