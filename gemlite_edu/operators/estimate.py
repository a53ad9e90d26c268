"""Estimates of how long large batches take on an H200: gemm_a16wn_fast versus dense weights.

The constants are fitted to the times of gemm_a16wn_fast and dequantize_then_cublas in
benchmarks/data, and to the eager calls that tools/call_overhead.py measures.
"""

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.gemm_fast import best_cut
from gemlite_edu.kernels.machine import H200

_HALVES = Types(*[torch.float16] * len(Types._fields))
_COST_OF_A_US = 38_500  # units of a cut's `cost` that pass in a microsecond
# {nbits: duration of a step, relative to 4 bits}, of the widths that Triton makes dense
_STEP_SCALES = {8: 0.54, 4: 1.0, 2: 1.75, 1: 1.68}
_BYTES_BESIDE_A_CUT = 3.0e6  # bytes of x, its image and y that pass in a microsecond
_MULTIPLY_ADDS_OF_A_US, _BYTES_OF_A_US = 424e6, 3.33e6
_STARTS_US = {"fused": 0.5, "dense": 5.0}  # a cut's cost already has the start of each turn
_HOST_US = 80.0  # host time of an eager dense call: a shorter GPU time saves nothing


def fused_us(M, N, K, weights):
    """Microseconds that gemm_a16wn_fast takes for y (M, N). weights: `FastWeights`.

    The estimate adds the cost of the cut, whose blocks last until the slowest ends, to the memory
    traffic: read x, write its image, read the image and write y.
    """
    cut = best_cut(M, N, K, _HALVES, weights, H200)
    problem = M, N, K // weights.step, H200.multiprocessors
    cost, _ = cut.cost(*problem, step_scale=_STEP_SCALES[weights.nbits])
    beside_it = M * (4 * K + 2 * N) / _BYTES_BESIDE_A_CUT
    return _STARTS_US["fused"] + cost / _COST_OF_A_US + beside_it


def dense_us(M, N, K, weights):
    """Microseconds to write W as 16-bit numbers and to multiply with cuBLAS."""
    bytes_of_a_weight = 2 + weights.nbits / 8 + 4 / (weights.group_size or K)
    products = M * N * K / _MULTIPLY_ADDS_OF_A_US
    return _STARTS_US["dense"] + products + N * K * bytes_of_a_weight / _BYTES_OF_A_US


def is_sooner_dense(M, N, K, weights, is_captured=False):
    """True if dequantizing the weights for the call is expected to be faster than the fused kernel.

    is_captured: a CUDA graph replays the call, so it costs the host no time.

    >>> from gemlite_edu.kernels.fast_weights import FastWeights
    >>> [is_sooner_dense(M, 3072, 8192, FastWeights(4, 128)) for M in (512, 1024)]
    [False, True]
    """
    host = 0.0 if is_captured else _HOST_US
    return max(dense_us(M, N, K, weights), host) < fused_us(M, N, K, weights)
