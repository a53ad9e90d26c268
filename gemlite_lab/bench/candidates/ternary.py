"""Our kernels for 2-bit weights and int8 activations, and int8 matrices in torch beside them.

y is bfloat16, as BitNet's is, with scales that are 1; torch._int_mm gives the int32 sums.
"""

import hashlib
from functools import cache, partial

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.packing import pack_bitnet_2bit
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared

_GEMV, _GEMM = "gemv_a8w2_dp4a", "gemm_a8w2_wmma"
_MOST_ROWS_OF_GEMV = 8
_FEWEST_ROWS_OF_INT_MM = 17

_load = cache(load)


def _why_not(name, problem):
    if not _is_plain(problem, nbits=2):
        return "2 bits without groups"
    if name == _GEMV and problem.M > _MOST_ROWS_OF_GEMV:
        return f"M up to {_MOST_ROWS_OF_GEMV}"
    return ""


def _is_plain(problem, nbits):
    weights = problem.weights
    no_groups = weights.group_size is None and not weights.is_sparse
    return weights.nbits == nbits and no_groups and not problem.transposed


def _prepare(name, weights, problem):
    fragment = None if name == _GEMV else _fragment_for(problem.M)
    kernel = _load(name, fragment=fragment, y_dtype=torch.bfloat16)
    W_packed = pack_bitnet_2bit(weights.W_q)
    token_scales = torch.ones(problem.M, device=W_packed.device)
    scales = weights.scales.flatten().contiguous()
    call = partial(kernel, W=W_packed, scales=scales, token_scales=token_scales, N=problem.N)
    return Prepared(call, (W_packed, scales))


def _fragment_for(M):
    return "8x32x16" if M <= 8 else "16x16x16"


def _why_not_int_mm(problem):
    if not _is_plain(problem, nbits=8):
        return "8 bits without groups"
    few = problem.M < _FEWEST_ROWS_OF_INT_MM
    return f"M from {_FEWEST_ROWS_OF_INT_MM}" if few else ""


def _prepare_int_mm(weights, problem):
    W = (weights.W_q.to(torch.int16) - 128).to(torch.int8)
    return Prepared(lambda x: torch._int_mm(x, W.T), (W,))


def _candidate(name):
    text = sources.expand(name, None).encode()
    return Candidate(
        name,
        "gemlite_edu",
        torch.int8,
        partial(_why_not, name),
        partial(_prepare, name),
        is_symmetric=True,
        build=hashlib.sha256(text).hexdigest()[:8],
    )


CANDIDATES = [
    _candidate(_GEMV),
    _candidate(_GEMM),
    Candidate("int_mm", "torch", torch.int8, _why_not_int_mm, _prepare_int_mm, is_symmetric=True),
]
