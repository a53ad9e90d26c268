"""torch.compile of an int8 weight-only linear: the fused kernel that Inductor writes."""

from functools import cache

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    if problem.transposed or str(problem.weights) != "W8":
        return "8 bits, one scale per channel, not transposed"
    return ""


def _int8_linear(x, W_int8, scales):
    return torch.nn.functional.linear(x, W_int8.to(x.dtype)) * scales


@cache
def _compiled(M, N, K):
    torch._dynamo.reset()  # compile each shape afresh: after a few, torch falls back to eager
    options = {"coordinate_descent_tuning": True}  # it makes M = 1 one fused kernel
    return torch.compile(_int8_linear, fullgraph=True, dynamic=False, options=options)


def _prepare(weights, problem):
    W_int8 = (weights.W_q.short() - weights.zeros.short()).to(torch.int8)
    scales = weights.scales.half().view(-1)
    linear = _compiled(problem.M, problem.N, problem.K)
    return Prepared(lambda x: linear(x, W_int8, scales), (W_int8, scales))


CANDIDATES = [
    Candidate("torch_compile_int8", "torch", torch.float16, _why_not, _prepare, is_symmetric=True)
]
