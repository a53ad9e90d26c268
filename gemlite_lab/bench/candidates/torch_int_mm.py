"""torch._int_mm, cuBLAS's product of int8 by int8: y is the int32 sums."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared

_FEWEST_ROWS = 17


def _why_not(problem):
    if problem.transposed or str(problem.weights) != "W8":
        return "8 bits without groups"
    return f"M from {_FEWEST_ROWS}" if problem.M < _FEWEST_ROWS else ""


def _prepare(weights, problem):
    W = (weights.W_q.to(torch.int16) - 128).to(torch.int8)
    return Prepared(lambda x: torch._int_mm(x, W.T), (W,))


CANDIDATES = [Candidate("int_mm", "torch", torch.int8, _why_not, _prepare, is_symmetric=True)]
