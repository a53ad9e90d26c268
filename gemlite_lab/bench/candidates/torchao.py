"""torchao's int4 matmul, forward and transposed (triton_mixed_mm), packed as its README says."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    weights = problem.weights
    return "" if weights.nbits == 4 and weights.group_size else "4 bits in groups"


def _prepare(weights, problem):
    from torchao.prototype.hqq import pack_2xint4, triton_mixed_mm

    packed = pack_2xint4(weights.W_q.T)
    scales, zeros = weights.scales.half().T, weights.zeros.half().T  # views: its strides need them

    def call(x):
        return triton_mixed_mm(
            x,
            packed,
            scales,
            zeros,
            weights.group_size,
            transposed=problem.transposed,
            kernel_type="compute_bound",
        )

    return Prepared(call, (packed, scales, zeros))


CANDIDATES = [Candidate("torchao", "torchao", torch.float16, _why_not, _prepare)]
