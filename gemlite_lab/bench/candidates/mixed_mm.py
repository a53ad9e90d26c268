"""Our int4 matmul, forward and transposed."""

from functools import partial

import torch

from gemlite_edu.kernels.triton.hashes import all_kernels_hash
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import triton_mixed_mm
from gemlite_lab.bench.candidate import Candidate, Prepared


def _why_not(problem):
    weights = problem.weights
    return "" if weights.nbits == 4 and not weights.is_sparse else "dense 4 bits"


def _prepare(weights, problem):
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


CANDIDATES = [
    Candidate(
        "triton_mixed_mm",
        "gemlite_edu",
        torch.float16,
        _why_not,
        _prepare,
        build=all_kernels_hash()[:8],
    )
]
