"""humming-kernels: CUDA kernels compiled at first use; symmetric, so they read no zeros."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.nbits not in (8, 4, 2, 1) or weights.group_size is None:
        return "8, 4, 2 or 1 bits in groups, not transposed"
    return ""


def _prepare(weights, problem):
    from humming import ops
    from humming.layer import HummingLayer

    config = {"dtype": f"uint{weights.nbits}", "group_size": weights.group_size}
    layer = HummingLayer(problem.N, problem.K, weight_config=config, torch_dtype=torch.float16)
    layer = layer.cuda()
    packed = ops.pack_weight(weights.W_q.int(), weights.nbits)
    layer.load_from_tensors({"weight": packed, "weight_scale": weights.scales.half()})
    layer.transform()
    return Prepared(layer, tuple(layer.parameters()))


CANDIDATES = [
    Candidate("humming", "humming-kernels", torch.float16, _why_not, _prepare, is_symmetric=True)
]
