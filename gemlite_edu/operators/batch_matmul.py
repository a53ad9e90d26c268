"""The product for batches at the memory limit as a function of torch tensors."""

from functools import lru_cache

from gemlite_edu.kernels.gemm_fast import FAST_GEMM, HOPPER, LONGEST_K, N_TILE, WIDTHS
from gemlite_edu.kernels.gemv_fast import FLOATS, FastWeights
from gemlite_edu.kernels.machine import MAX_GRID_Y
from gemlite_edu.operators.ready_products import multiply, product_of
from gemlite_edu.runners.batch_kernel import batch_plan
from gemlite_edu.runners.batch_text import BatchText
from gemlite_edu.runners.fast_kernel import machine_of

(_KIND,) = FAST_GEMM.values()
_TIME_LIMIT = 600.0  # seconds, in the simulator


@lru_cache(maxsize=1024)
def takes(layout, x_dtype, y_dtype, capability, N):
    """Whether `batch_matmul` multiplies x of that type by N rows of this layout, to such a y.

    capability: of the GPU, (major, minor). So it does on Hopper with codes of 8, 4 or 2 bits in
    words of 32 bits, N a multiple of 8, groups and rows that are not padded, and x of float16. Of
    more than 16 rows of x it makes weights in float16, and rounds scales to it.

    >>> import torch
    >>> from gemlite_edu.packing.plane_tiles import PlaneTiles
    >>> takes(PlaneTiles(4, K=256, group_size=128), torch.float16, torch.float16, (9, 0), N=64)
    True
    """
    is_alike = x_dtype in _KIND.x_dtypes and y_dtype in FLOATS and capability == HOPPER
    fits = N % N_TILE == 0 and layout.padded_K == layout.K <= LONGEST_K
    if not is_alike or not fits or layout.nbits not in WIDTHS:
        return False
    try:
        return FastWeights(layout.nbits, layout.group_size).layout(layout.K) == layout
    except ValueError:
        return False


def batch_matmul(x, weight, epilogue):
    """y (M, N) = x W^T, times channel and token scales, plus bias.

    x: (M, K) fp16. weight: a `TritonWeight`. epilogue: an `Epilogue` of triton_matmul.
    CUDA tensors on their device's current stream, CPU tensors in the simulator.
    Raises ValueError for what it does not take.

    >>> import torch
    >>> from gemlite_edu import quantize_linear
    >>> from gemlite_edu.operators.triton_weight import TritonWeight
    >>> weight = TritonWeight.from_quantized(quantize_linear(torch.ones(8, 256), 4, 128))
    >>> from gemlite_edu.operators.triton_product import Epilogue
    >>> batch_matmul(torch.ones(2, 256).half(), weight, Epilogue(torch.float32))[:, 0]
    tensor([256., 256.])
    """
    return multiply(prepared, x, weight, epilogue)


@lru_cache(maxsize=4096)
def prepared(shape, N, types, layout, mode, device):
    """A product of which all is decided but what the tensors hold: it maps them to y (..., N).

    shape: of x (..., K). It takes x, words, scales, zeros, channel_scales, token_scales and bias,
    of `types`, on the device; None for one that is not there. ValueError for what is not taken.
    """
    M, y_shape = shape[:-1].numel(), (*shape[:-1], N)
    plan, text = _plan(M, N, types, layout, mode, device), _text()
    return product_of(text, plan, y_shape, types.y, device)


def _plan(M, N, types, layout, mode, device):
    """The `BatchPlan`; ValueError where there is none."""
    if not takes(layout, types.x, types.y, machine_of(device)[0], N):
        raise ValueError(
            f"batch_matmul does not take x {types.x}, y {types.y} and N = {N} with {layout} on "
            f"{device}: ask batch_matmul.takes, and use triton_matmul.matmul"
        )
    weights = FastWeights(layout.nbits, layout.group_size, mode)
    plan = batch_plan(M, N, layout.K, types, weights, device)
    if plan.grid[1] > MAX_GRID_Y:
        raise ValueError(f"x has M = {M} rows, too many for a launch: split x by rows")
    return plan


@lru_cache
def _text():
    return BatchText(_KIND.text, _KIND.entry, None, _TIME_LIMIT)
