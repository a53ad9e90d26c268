"""The Triton kernels of this package, each by itself, and the layer that chooses among them."""

import hashlib
from functools import partial
from itertools import product

import torch

from gemlite_edu.kernels.machine import H200
from gemlite_edu.kernels.triton import KERNELS
from gemlite_edu.kernels.triton.hashes import all_kernels_hash
from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators.choose import MATMUL_TYPES, Problem, choose
from gemlite_edu.packing.plane_tiles import best_layout
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.candidates import fast, fast_batch

_WIDTHS = (8, 4, 3, 2, 1)
_ROWS, _SIZES = (1, 4, 5, 8, 9, 64, 65, 128, 256, 512, 1024, 1025), (4096, 8192)


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse or weights.nbits not in _WIDTHS:
        return "dense 8, 4, 3, 2 or 1 bits, not transposed"
    return ""


def _prepare(matmul_type, weights, problem):
    """matmul_type: of `forward_manual`; None: as the layer chooses."""
    layer = GemLiteLinear(
        weights.nbits,
        group_size=problem.weights.group_size,
        in_features=problem.K,
        out_features=problem.N,
        input_dtype=DType.FP16,
        output_dtype=DType.FP16,
    )
    layer.pack(weights.W_q, weights.scales.half(), weights.zeros.half())
    call = layer if matmul_type is None else partial(layer.forward_manual, matmul_type=matmul_type)
    return Prepared(call, tuple(p.data for p in layer.parameters()))


def _candidate(name, matmul_type, build):
    return Candidate(
        name,
        "gemlite_edu",
        torch.float16,
        _why_not,
        partial(_prepare, matmul_type),
        build=build[:8],
    )


_TYPE_OF = {name: matmul_type for matmul_type, name in MATMUL_TYPES.items()}
_BUILD = all_kernels_hash()
CANDIDATES = [_candidate(f"triton_{name}", _TYPE_OF[name], _BUILD) for name in KERNELS]
CANDIDATES.append(_candidate("dequantize_then_cublas", "DEQUANTIZE", _BUILD))


def _choices():
    """{problem: matmul type}: what the layer chooses on an H200 for a grid of problems."""
    chosen = {}
    for M, N, K, nbits, is_captured in product(_ROWS, _SIZES, _SIZES, _WIDTHS, (False, True)):
        of_layer = best_layout(nbits, K, 128), torch.float16, torch.float16, True, H200
        problem = Problem(M, N, *of_layer, is_captured)
        chosen[M, N, K, nbits, is_captured] = choose(problem).matmul_type
    return chosen


def _layer_build():
    """A hash of the kernels' texts and of what the layer chooses among them."""
    texts = [_BUILD, *(one.build for one in fast.CANDIDATES + fast_batch.CANDIDATES)]
    return hashlib.sha256("".join([*texts, str(_choices())]).encode()).hexdigest()


CANDIDATES.append(_candidate("gemlite_linear", None, _layer_build()))
