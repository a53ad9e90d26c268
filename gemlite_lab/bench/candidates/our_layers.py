"""Our Triton kernels, the layer that chooses among all our kernels, and our int4 matmul."""

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
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import triton_mixed_mm
from gemlite_edu.packing.plane_tiles import best_layout
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.candidates import ours

_WIDTHS = (8, 4, 3, 2, 1)
_ROWS, _SIZES = (1, 4, 5, 8, 9, 64, 65, 128, 256, 512, 1024, 2048, 2049), (4096, 8192)


def _candidate(name, why_not, prepare, build):
    return Candidate(name, "gemlite_edu", torch.float16, why_not, prepare, build=build[:8])


def _why_not_linear(problem):
    weights = problem.weights
    if problem.transposed or weights.is_sparse or weights.nbits not in _WIDTHS:
        return "dense 8, 4, 3, 2 or 1 bits, not transposed"
    return ""


def _prepare_linear(matmul_type, weights, problem):
    """A layer that multiplies by `matmul_type`, or chooses one itself if that is None."""
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


def _why_not_mixed_mm(problem):
    weights = problem.weights
    return "" if weights.nbits == 4 and not weights.is_sparse else "dense 4 bits"


def _prepare_mixed_mm(weights, problem):
    weight = Int4Weight.from_quantized(weights, torch.float16)
    call = partial(
        triton_mixed_mm,
        b=weight.packed,
        scales=weight.scales,
        zeros=weight.zeros,
        group_size=weight.group_size,
        transposed=problem.transposed,
        kernel_type="max_autotune",
    )
    return Prepared(call, (weight.packed, weight.scales, weight.zeros))


def _choices():
    """{problem: matmul type}: what the layer chooses on an H200 for a grid of problems."""
    chosen = {}
    for M, N, K, nbits in product(_ROWS, _SIZES, _SIZES, _WIDTHS):
        of_layer = best_layout(nbits, K, 128), torch.float16, torch.float16, True, H200
        chosen[M, N, K, nbits] = choose(Problem(M, N, *of_layer)).matmul_type
    return chosen


def _layer_build():
    """A hash that changes with any kernel the layer may run, and with its choice among them."""
    texts = [_BUILD, *(one.build for one in ours.FAST), str(_choices())]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


_BUILD = all_kernels_hash()
_TYPE_OF = {name: matmul_type for matmul_type, name in MATMUL_TYPES.items()}
_TYPES = {f"triton_{name}": _TYPE_OF[name] for name in KERNELS}
_TYPES["dequantize_then_cublas"] = "DEQUANTIZE"

CANDIDATES = [
    *(
        _candidate(name, _why_not_linear, partial(_prepare_linear, matmul_type), _BUILD)
        for name, matmul_type in _TYPES.items()
    ),
    _candidate("gemlite_linear", _why_not_linear, partial(_prepare_linear, None), _layer_build()),
    _candidate("triton_mixed_mm", _why_not_mixed_mm, _prepare_mixed_mm, _BUILD),
]
