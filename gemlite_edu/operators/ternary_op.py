"""Products of int8 activations and ternary weights as a torch operator.

`gemlite_edu::a8w2` chooses the kernel by `choose.TERNARY_RULES`. It runs CPU tensors in the
simulator and CUDA tensors on their GPU's current stream; for meta tensors it returns only a shape.
"""

from functools import cache

import torch

from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.kernels.ternary import factors
from gemlite_edu.operators.choose import TERNARY_RULES, TernaryProblem, choose
from gemlite_edu.runners.load import load

_FRAGMENTS = {"gemm_a8w2_wmma": "16x16x16"}


@torch.library.custom_op("gemlite_edu::a8w2", mutates_args=())
def a8w2(
    x_q: torch.Tensor,
    W_packed: torch.Tensor,
    scales: torch.Tensor,
    token_scales: torch.Tensor,
    N: int,
    y_dtype: torch.dtype,
) -> torch.Tensor:
    """y (M, N) as float16, bfloat16 or float32 (`y_dtype`); operands as for a call of `Kernel`."""
    M, K = x_q.shape
    problem = TernaryProblem(M, K, machine_of(x_q.device))
    name = choose(problem, TERNARY_RULES).matmul_type
    if y_dtype == torch.float32:
        sums = _loaded(name, torch.int32)(x_q, W_packed, N=N)
        of_tokens = factors("token_scales", token_scales, M, x_q.device)
        return sums * (of_tokens * factors("scales", scales, N, x_q.device).T)
    kernel = _loaded(name, y_dtype)
    return kernel(x_q, W_packed, scales, token_scales=token_scales, N=N)


@a8w2.register_fake
def _(x_q, W_packed, scales, token_scales, N, y_dtype):
    return x_q.new_empty((x_q.shape[0], N), dtype=y_dtype)


@cache
def _loaded(name, y_dtype):
    return load(name, fragment=_FRAGMENTS.get(name), y_dtype=y_dtype)
