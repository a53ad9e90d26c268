"""torch.matmul on unquantized weights, which calls cuBLAS: low-bit kernels must beat its time."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    return "" if problem.weights.nbits == 16 else "unquantized weights"


def _prepare(W, problem):
    right = W if problem.transposed else W.T
    return Prepared(lambda x: x @ right, (W,))


CANDIDATES = [
    Candidate("cublas", "torch", torch.float16, _why_not, _prepare),
    Candidate("cublas_bf16", "torch", torch.bfloat16, _why_not, _prepare),
]
