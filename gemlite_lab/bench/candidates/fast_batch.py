"""Our product for batches at the memory limit."""

import hashlib
from functools import cache

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemm_fast import FAST_GEMM, N_TILE
from gemlite_edu.kernels.machine import HOPPER, machine_of
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared

((_NAME, _SPEC),) = FAST_GEMM.items()

_load = cache(load)


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse:
        return "dense weights, not transposed"
    if torch.cuda.is_available() and machine_of(torch.device("cuda")).capability != HOPPER:
        return "Hopper"
    try:
        step = _SPEC.completed(weights.nbits, group_size=weights.group_size).weights.step
    except ValueError as error:
        return str(error)
    return f"N in {N_TILE}s, K in {step}s" if problem.N % N_TILE or problem.K % step else ""


def _prepare(weights, problem):
    kernel = _load(_NAME, weights.nbits, group_size=problem.weights.group_size)
    operands = kernel.pack(weights.W_q, weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


_BUILD = hashlib.sha256("".join(map(sources.expand, _SPEC.texts)).encode()).hexdigest()[:8]
CANDIDATES = [Candidate(_NAME, "gemlite_edu", torch.float16, _why_not, _prepare, build=_BUILD)]
