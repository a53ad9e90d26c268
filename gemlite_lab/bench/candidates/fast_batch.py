"""Our product for batches at the memory limit."""

import hashlib
from functools import cache

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemm_fast import FAST_GEMM, HOPPER, N_TILE
from gemlite_edu.runners.kernel_text import capability_of
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared

((_NAME, _KIND),) = FAST_GEMM.items()
_TEXTS = (_KIND.text, "arrange_for_mma", "arrange_for_wgmma")

_load = cache(load)


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse:
        return "dense weights, not transposed"
    if torch.cuda.is_available() and capability_of(torch.device("cuda")) != HOPPER:
        return "Hopper"
    try:
        step = _KIND.weights(weights.nbits, weights.group_size).step
    except ValueError as error:
        return str(error)
    return f"N in {N_TILE}s, K in {step}s" if problem.N % N_TILE or problem.K % step else ""


def _prepare(weights, problem):
    kernel = _load(_NAME, weights.nbits, group_size=problem.weights.group_size)
    operands = kernel.pack(weights.W_q, weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


_BUILD = hashlib.sha256("".join(map(sources.expand, _TEXTS)).encode()).hexdigest()[:8]
CANDIDATES = [Candidate(_NAME, "gemlite_edu", torch.float16, _why_not, _prepare, build=_BUILD)]
