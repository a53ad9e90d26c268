"""GemLite's Triton kernels, called through its linear layer with its own autotuning."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.nbits not in (8, 4, 2, 1) or weights.group_size is None:
        return "8, 4, 2 or 1 bits in groups, not transposed"
    return ""


def _prepare(weights, problem):
    from gemlite.core import DType, GemLiteLinear

    layer = GemLiteLinear(
        weights.nbits,
        group_size=weights.group_size,
        in_features=problem.K,
        out_features=problem.N,
        input_dtype=DType.FP16,
        output_dtype=DType.FP16,
    )
    layer.pack(weights.W_q, weights.scales.half(), weights.zeros.half(), bias=None)
    return Prepared(layer, (layer.W_q, layer.scales, layer.zeros))


CANDIDATES = [Candidate("gemlite", "gemlite", torch.float16, _why_not, _prepare)]
