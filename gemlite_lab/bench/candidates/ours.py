"""Our CUDA kernels, those that `load` finds by name; our_layers.py has the Triton kernels."""

import hashlib
from functools import cache, partial

import torch

from gemlite_edu.kernels import holes, sources
from gemlite_edu.kernels.gemm_fast import FAST_GEMM, N_TILE
from gemlite_edu.kernels.gemm_mma import MMA_GEMM, MOST_ROWS
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS
from gemlite_edu.kernels.machine import AMPERE, HOPPER, machine_of
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.kernels.ternary import TERNARY_KERNELS
from gemlite_edu.kernels.ternary_fast import FAST_TERNARY
from gemlite_edu.packing import BitPlanes3, Sparse1in2, pack_bitnet_2bit
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.operands import operands_of
from gemlite_lab.bench.problem import kept_of

_load = cache(load)


def _candidate(name, texts, why_not, prepare, x_dtype, is_symmetric=False):
    """A kernel of this package, whose build is a hash of the code in `texts`, without comments."""
    code = " ".join(holes.without_comments("".join(texts)).split())
    build = hashlib.sha256(code.encode()).hexdigest()[:8]
    return Candidate(name, "gemlite_edu", x_dtype, why_not, prepare, is_symmetric, build)


def _texts(*names):
    return [sources.expand(name) for name in names]


def _prepared(kernel, operands):
    return Prepared(lambda x: kernel(x, *operands), operands)


# The GEMVs of the lessons, with x of 16 bits or int8.


def _why_not_gemv(name, problem):
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
    if weights.is_sparse:
        return "dense weights"
    has_integer_scales = torch.int8 in kernel.x_dtypes
    return "integer scales, none in groups" if has_integer_scales and weights.group_size else ""


def _prepare_gemv(name, weights, problem):
    spec = KERNELS[name]
    if not spec.is_packed:
        return _prepared(_load(name), (weights,))
    nbits = weights.nbits if spec.takes_nbits else None
    kernel = _load(name, nbits=nbits, group_size=problem.weights.group_size)
    return _prepared(kernel, operands_of(kernel, weights))


_GEMVS = [
    _candidate(
        name,
        _texts(name),
        partial(_why_not_gemv, name),
        partial(_prepare_gemv, name),
        spec.x_dtypes[0],
    )
    for name, spec in KERNELS.items()
]

# The GEMVs at the memory limit, with x of either type, and the product for batches.

_SPARSE = "gemv_a16w7_sparse_fast"
_MOST_ROWS_OF_FAST_GEMV = 64  # a pass over the weights serves 8 rows, so more rows need a product
(_FAST_GEMM_SPEC,) = FAST_GEMM.values()


def _why_not_fast_gemv(name, problem):
    weights = problem.weights
    if problem.transposed or problem.M > _MOST_ROWS_OF_FAST_GEMV:
        return f"not transposed, M up to {_MOST_ROWS_OF_FAST_GEMV}"
    if weights.is_sparse != (name == _SPARSE):
        return "1:2 sparse 7-bit weights" if name == _SPARSE else "dense weights"
    try:
        nbits = weights.nbits if FAST_KERNELS[name].takes_nbits else None
        FAST_KERNELS[name].completed(nbits, group_size=weights.group_size)
    except ValueError as error:
        return str(error)
    return ""


def _why_not_hopper():
    is_another = torch.cuda.is_available() and machine_of(torch.device("cuda")).capability != HOPPER
    return "Hopper" if is_another else ""


def _why_not_fast_gemm(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse:
        return "dense weights, not transposed"
    if _why_not_hopper():
        return _why_not_hopper()
    try:
        spec = _FAST_GEMM_SPEC.completed(weights.nbits, group_size=weights.group_size)
    except ValueError as error:
        return str(error)
    step = spec.weights.step
    return f"N in {N_TILE}s, K in {step}s" if problem.N % N_TILE or problem.K % step else ""


def _prepare_fast(name, x_dtype, weights, problem):
    is_sparse = name == _SPARSE
    nbits, kept = (None, [kept_of(weights)]) if is_sparse else (weights.nbits, [])
    kernel = _load(name, nbits, x_dtype, group_size=problem.weights.group_size)
    return _prepared(kernel, kernel.pack(weights.W_q, *kept, weights.scales, weights.zeros))


_FAST_GEMVS = [
    _candidate(
        name + end,
        _texts(*spec.texts),
        partial(_why_not_fast_gemv, name),
        partial(_prepare_fast, name, x_dtype),
        x_dtype,
    )
    for name, spec in FAST_KERNELS.items()
    for x_dtype, end in ((torch.float16, ""), (torch.bfloat16, "_bf16"))
]
_FAST_GEMM = _candidate(
    _FAST_GEMM_SPEC.name,
    _texts(*_FAST_GEMM_SPEC.texts),
    _why_not_fast_gemm,
    partial(_prepare_fast, _FAST_GEMM_SPEC.name, torch.float16),
    torch.float16,
)
FAST = [*_FAST_GEMVS, _FAST_GEMM]

# The product that needs no Hopper, where a layer on an H200 does not take it.

_LEAST_ROWS_OF_MMA = 5  # fewer share a pass of gemv_a16wn_fast in any case
(_MMA_SPEC,) = MMA_GEMM.values()


def _why_not_mma(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse:
        return "dense weights, not transposed"
    if not _LEAST_ROWS_OF_MMA <= problem.M <= MOST_ROWS:
        return f"M from {_LEAST_ROWS_OF_MMA} to {MOST_ROWS}"
    if torch.cuda.is_available() and machine_of(torch.device("cuda")).capability < AMPERE:
        return "sm_80 or newer"
    try:
        _MMA_SPEC.completed(weights.nbits, group_size=weights.group_size)
    except ValueError as error:
        return str(error)
    return ""


_MMA_GEMMS = [
    _candidate(
        _MMA_SPEC.name + end,
        _texts(*_MMA_SPEC.texts),
        _why_not_mma,
        partial(_prepare_fast, _MMA_SPEC.name, x_dtype),
        x_dtype,
    )
    for x_dtype, end in ((torch.float16, ""), (torch.bfloat16, "_bf16"))
]

# gemv_a16wn_fast with a table in its hole.

(_PLAIN,) = (one for one in _FAST_GEMVS if one.name == "gemv_a16wn_fast")
# The table's levels are the codes themselves, so y is the same as without a table.
_TABLES = {nbits: pair_table(range(2**nbits)) for nbits in range(1, 9)}


def _why_not_table(problem):
    return _PLAIN.why_not(problem)


@cache
def _load_table(nbits, group_size):
    return load(_PLAIN.name, nbits=nbits, group_size=group_size, replace=_TABLES[nbits])


def _prepare_table(weights, problem):
    kernel = _load_table(problem.weights.nbits, problem.weights.group_size)
    return _prepared(kernel, kernel.pack(weights.W_q, weights.scales, weights.zeros))


_TABLE_TEXTS = [text for holes in _TABLES.values() for text in holes.values()]
_TABLE_GEMV = _candidate(
    f"{_PLAIN.name}_table",
    _texts(*FAST_KERNELS[_PLAIN.name].texts) + _TABLE_TEXTS,
    _why_not_table,
    _prepare_table,
    torch.float16,
)

# The kernels for 2-bit weights and int8 x: y is bfloat16, as BitNet's is, and the scales are 1.

_TERNARY_GEMV, _TERNARY_WMMA = TERNARY_KERNELS
_MOST_ROWS_OF_TERNARY_GEMV = 8


def _why_not_ternary(name, problem):
    if problem.transposed or str(problem.weights) != "W2":
        return "2 bits without groups"
    if name == _TERNARY_GEMV and problem.M > _MOST_ROWS_OF_TERNARY_GEMV:
        return f"M up to {_MOST_ROWS_OF_TERNARY_GEMV}"
    return _why_not_hopper() if name in FAST_TERNARY else ""


def _prepare_ternary(name, weights, problem):
    fragment = _fragment_for(problem.M) if name == _TERNARY_WMMA else None
    kernel = _load(name, fragment=fragment, y_dtype=torch.bfloat16)
    W_packed = pack_bitnet_2bit(weights.W_q)
    token_scales = torch.ones(problem.M, device=W_packed.device)
    scales = weights.scales.flatten().contiguous()
    call = partial(kernel, W=W_packed, scales=scales, token_scales=token_scales, N=problem.N)
    return Prepared(call, (W_packed, scales))


def _fragment_for(M):
    return "8x32x16" if M <= 8 else "16x16x16"


_TERNARY = [
    _candidate(
        name,
        _texts(name),
        partial(_why_not_ternary, name),
        partial(_prepare_ternary, name),
        torch.int8,
        is_symmetric=True,
    )
    for name in (*TERNARY_KERNELS, *FAST_TERNARY)
]

CANDIDATES = [*_GEMVS, *FAST, *_MMA_GEMMS, _TABLE_GEMV, *_TERNARY]
