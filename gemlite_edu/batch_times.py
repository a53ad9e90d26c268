"""Floor 2: what large batches should take on an H200, by gemm_a16wn_fast and with dense weights.

The numbers are fitted to times of gemm_a16wn_fast and dequantize_then_cublas in benchmarks/data.
"""

import torch

from gemlite_edu.batch_launches import best_cut
from gemlite_edu.fast_launches import Types

_H200_MULTIPROCESSORS, _LARGEST_CLUSTER = 132, 4
_HALVES = Types(*[torch.float16] * len(Types._fields))
_COST_OF_A_US = {8: 50_000, 4: 30_000, 2: 19_000}  # {nbits: of a cut}
_MORE_LAUNCHES_US = 5.0
_MULTIPLY_ADDS_OF_A_US, _BYTES_OF_A_US = 375e6, 3.75e6


def fused_us(M, N, K, weights):
    """Microseconds of gemm_a16wn_fast for y (M, N). weights: `FastWeights`.

    Its blocks compute whole tiles of y, and all of them for as long as the last.
    """
    cut = best_cut(M, N, K, _HALVES, weights, _H200_MULTIPROCESSORS, _LARGEST_CLUSTER)
    cost, _ = cut.cost(M, N, K // weights.step, _H200_MULTIPROCESSORS)
    return cost / _COST_OF_A_US[weights.nbits]


def dense_us(M, N, K, weights):
    """Microseconds of writing W as 16-bit numbers and multiplying by cuBLAS."""
    bytes_of_a_weight = 2 + weights.nbits / 8 + 4 / (weights.group_size or K)
    products = M * N * K / _MULTIPLY_ADDS_OF_A_US
    return _MORE_LAUNCHES_US + products + N * K * bytes_of_a_weight / _BYTES_OF_A_US
