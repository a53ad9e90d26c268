"""What large batches should take on an H200, by gemm_a16wn_fast and with dense weights.

The numbers are fitted to times in benchmarks/data: of gemm_a16wn_fast and dequantize_then_cublas,
and of an eager layer of the latter, which tools/call_overhead.py measures.
"""

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.gemm_fast import best_cut
from gemlite_edu.kernels.machine import H200

_HALVES = Types(*[torch.float16] * len(Types._fields))
_COST_OF_A_US = 36_000  # of a cut
_STEP_SCALES = {8: 0.6, 4: 1.0, 2: 1.8}  # {nbits: how long a step takes, in those of 4 bits}
_BYTES_BESIDE_A_CUT = 2.2e6  # in a microsecond, of x, its image and y
_MULTIPLY_ADDS_OF_A_US, _BYTES_OF_A_US = 424e6, 3.33e6
_STARTS_US = {"fused": 0.5, "dense": 5.0}  # beside the start of a turn, in a cut's cost
_HOST_US = 80.0  # of the host, for an eager layer: below that dense weights save nothing


def fused_us(M, N, K, weights):
    """Microseconds of gemm_a16wn_fast for y (M, N). weights: `FastWeights`.

    Its blocks compute whole tiles of y, and all of them for as long as the last; x comes in as it
    is, goes out as an image that they read, and y goes out.
    """
    cut = best_cut(M, N, K, _HALVES, weights, H200)
    problem = M, N, K // weights.step, H200.multiprocessors
    cost, _ = cut.cost(*problem, step_scale=_STEP_SCALES[weights.nbits])
    beside_it = M * (4 * K + 2 * N) / _BYTES_BESIDE_A_CUT
    return _STARTS_US["fused"] + cost / _COST_OF_A_US + beside_it


def dense_us(M, N, K, weights):
    """Microseconds of writing W as 16-bit numbers and multiplying by cuBLAS."""
    bytes_of_a_weight = 2 + weights.nbits / 8 + 4 / (weights.group_size or K)
    products = M * N * K / _MULTIPLY_ADDS_OF_A_US
    return _STARTS_US["dense"] + products + N * K * bytes_of_a_weight / _BYTES_OF_A_US


def is_sooner_dense(M, N, K, weights, is_captured=False):
    """Whether a layer should have y sooner with dense weights, made for the call.

    is_captured: into a CUDA graph, which takes the host no time.

    >>> from gemlite_edu.kernels.fast_weights import FastWeights
    >>> [is_sooner_dense(M, 5120, 13824, FastWeights(4, 128)) for M in (768, 1024)]
    [False, True]
    """
    host = 0.0 if is_captured else _HOST_US
    return max(dense_us(M, N, K, weights), host) < fused_us(M, N, K, weights)
