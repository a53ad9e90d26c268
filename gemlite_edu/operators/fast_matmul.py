"""The GEMV at the memory limit as a function of torch tensors, for a `TritonWeight`."""

from functools import lru_cache

from gemlite_edu.kernels.gemv_fast import (
    FAST_KERNELS,
    FLOATS,
    OLDEST_CAPABILITY,
    X_TILE,
    FastWeights,
    Types,
)
from gemlite_edu.kernels.machine import MAX_GRID_Y
from gemlite_edu.numbers.checks import whole_tiles
from gemlite_edu.operators.ready_products import multiply, product_of
from gemlite_edu.runners.fast_kernel import machine_of
from gemlite_edu.runners.kernel_text import KernelText

_FAST = FAST_KERNELS["gemv_a16wn_fast"]
_TIME_LIMIT = 600.0  # seconds, in the simulator


@lru_cache(maxsize=1024)
def takes(layout, x_dtype, y_dtype, capability, N=1):
    """Whether `fast_matmul` multiplies x of that type by N rows of this layout, to such a y.

    capability: of the GPU, (major, minor). So it does with codes of 8, 4, 2 or 1 bits in words of
    32 bits (16 of one bit), groups that are not padded, and x and y of 16 bits, y also of 32.

    >>> import torch
    >>> from gemlite_edu.packing.plane_tiles import PlaneTiles
    >>> takes(PlaneTiles(4, K=256, group_size=128), torch.float16, torch.float16, (9, 0))
    True
    """
    if x_dtype not in _FAST.x_dtypes or y_dtype not in FLOATS or capability < OLDEST_CAPABILITY:
        return False
    try:
        weights, K = FastWeights(layout.nbits, layout.group_size), layout.K
        _FAST.plan(1, N, K + -K % X_TILE, Types(x_dtype, y_dtype), weights, capability, 1)
    except ValueError:
        return False
    return weights.layout(K) == layout


def fast_matmul(x, weight, epilogue):
    """y (M, N) = x W^T, times channel and token scales, plus bias; 8 rows share a pass over W.

    x: (M, K) fp16 or bf16. weight: a `TritonWeight`. epilogue: an `Epilogue` of triton_matmul.
    CUDA tensors on their device's current stream, CPU tensors in the simulator.
    Raises ValueError for what it does not take.

    >>> import torch
    >>> from gemlite_edu import quantize_linear
    >>> from gemlite_edu.operators.triton_weight import TritonWeight
    >>> weight = TritonWeight.from_quantized(quantize_linear(torch.ones(2, 256), 4, 128))
    >>> from gemlite_edu.operators.triton_product import Epilogue
    >>> fast_matmul(torch.ones(1, 256).half(), weight, Epilogue(torch.float32))
    tensor([[256., 256.]])
    """
    return multiply(prepared, x, weight, epilogue)


@lru_cache(maxsize=4096)
def prepared(shape, N, types, layout, mode, device):
    """A product of which all is decided but what the tensors hold: it maps them to y (..., N).

    shape: of x (..., K). It takes x, words, scales, zeros, channel_scales, token_scales and bias,
    of `types`, on the device; None for one that is not there. ValueError for what is not taken.
    """
    M, y_shape = shape[:-1].numel(), (*shape[:-1], N)
    plan, text = _plan(M, N, types, layout, mode, device), _text(layout.nbits)
    product = product_of(text, plan, y_shape, types.y, device)
    if layout.K % X_TILE == 0:
        return product
    return lambda x, *others: product(whole_tiles(x, X_TILE), *others)


def _plan(M, N, types, layout, mode, device):
    """The `Launch`; ValueError where there is none."""
    capability, multiprocessors = machine_of(device)
    if not takes(layout, types.x, types.y, capability, N):
        raise ValueError(
            f"fast_matmul does not take x {types.x} and y {types.y} with {layout} on {device}: "
            "ask fast_matmul.takes, and use triton_matmul.matmul"
        )
    K, weights = layout.K, FastWeights(layout.nbits, layout.group_size, mode)
    plan = _FAST.plan(M, N, K + -K % X_TILE, types, weights, capability, multiprocessors)
    if plan.grid[1] > MAX_GRID_Y:
        raise ValueError(f"x has M = {M} rows, too many for a launch: split x by rows")
    return plan


@lru_cache
def _text(nbits):
    return KernelText(FastWeights(nbits).text, _FAST.entry, None, _TIME_LIMIT)
