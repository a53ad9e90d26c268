"""The kernels of this package."""

import hashlib
from functools import cache, partial

import torch

from gemlite_edu import sources
from gemlite_edu.bench.candidate import Candidate, Prepared
from gemlite_edu.kernels import KERNELS, load
from gemlite_edu.packing import pack_warped_int32

_load = cache(load)


def _why_not(name, problem):
    if problem.transposed:
        return "not transposed"
    if KERNELS[name].is_packed:
        return "packed weights" if problem.weights.nbits == 16 else _why_no_groups(problem)
    return "" if problem.weights.nbits == 16 else "unquantized weights"


def _why_no_groups(problem):
    return "one scale per channel" if problem.weights.group_size else ""


def _prepare(name, weights, problem):
    if isinstance(weights, torch.Tensor):
        kernel = _load(name)
        return Prepared(lambda x: kernel(x, weights), (weights,))
    kernel = _load(name, weights.nbits)
    operands = (pack_warped_int32(weights.W_q, weights.nbits), weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


def _candidate(name):
    text = sources.expand(name, None).encode()
    return Candidate(
        name,
        "gemlite_edu",
        torch.float16,
        partial(_why_not, name),
        partial(_prepare, name),
        build=hashlib.sha256(text).hexdigest()[:8],
    )


CANDIDATES = [_candidate(name) for name in KERNELS]
