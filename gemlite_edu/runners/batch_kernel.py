"""`BatchKernel`, the product for batches at the memory limit, ready to be called."""

import torch

from gemlite_edu.kernels.gemm_fast import FAST_GEMM, HOPPER
from gemlite_edu.kernels.gemv_fast import Types
from gemlite_edu.runners.batch_text import BatchText
from gemlite_edu.runners.fast_kernel import FastKernel, machine_of

_LARGEST_CLUSTER = {"cuda": 4, "cpu": 1}  # the simulator has no clusters


class BatchKernel(FastKernel):
    """A product of many rows with `PlaneTiles`, for Hopper and the simulator. Made by `load`.

    What it takes and gives: `FastKernel`. x is float16; N is a multiple of 8, K of 512 // nbits.
    Beyond 16 rows a weight and its scale are rounded to float16.

    >>> from gemlite_edu import load, quantize_linear
    >>> q = quantize_linear(torch.arange(-8.0, 8.0).repeat(8, 8), nbits=4)
    >>> kernel = load("gemm_a16wn_fast", nbits=4)
    >>> kernel(torch.ones(2, 128).half(), *kernel.pack(q.W_q, q.scales, q.zeros))[:, 0]
    tensor([-64., -64.], dtype=torch.float16)
    """

    kinds = FAST_GEMM

    def _make_text(self, replace, time_limit):
        return BatchText(self._kind.text, self._kind.entry, replace, time_limit)

    def _plan(self, M, N, K, device):
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return batch_plan(M, N, K, types, self._weights, device)


def batch_plan(M, N, K, types, weights, device):
    """The `BatchPlan` for tensors on `device`; ValueError where there is none."""
    capability, multiprocessors = machine_of(device)
    if capability != HOPPER:
        raise ValueError(
            f"gemm_a16wn_fast needs compute capability 9.0, and {device} has "
            f"{capability[0]}.{capability[1]}: use gemv_a16wn_fast"
        )
    largest_cluster = _LARGEST_CLUSTER[device.type]
    (kind,) = FAST_GEMM.values()
    return kind.plan(M, N, K, types, weights, multiprocessors, largest_cluster)
