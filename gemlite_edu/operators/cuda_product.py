"""The fast CUDA kernels as functions of tensors.

`GEMV_FAST` is for few rows; for more `GEMM_FAST` is on Hopper, and `GEMM_MMA` from sm_80 on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import torch

from gemlite_edu.kernels.fast_weights import FLOATS, FastWeights, Types
from gemlite_edu.kernels.gemm_fast import LONGEST_K, N_TILE, FastGemm, plan_gemm
from gemlite_edu.kernels.gemm_mma import MmaGemm, plan_mma
from gemlite_edu.kernels.gemv_fast import X_TILE, FastGemv, plan_gemv
from gemlite_edu.kernels.machine import AMPERE, HOPPER, TURING, machine_of
from gemlite_edu.kernels.pair_table import known_of
from gemlite_edu.numbers.checks import aligned, aligned_pointers_of, pointers_of, whole_tiles
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.runners.gpu_or_simulator import Program

_NAMES = (
    *("x", "W_packed", "scales", "zeros", "channel_scales", "token_scales", "bias"),
    "levels",
)
_TIME_LIMIT = 600.0  # seconds, for the simulator


@dataclass(frozen=True)
class CudaProduct:
    """One kernel for y = x Wᵀ: call it with x, a weight and an `Epilogue` to get y (M, N).

    plan: plans the kernel's launches. misfit: why the kernel does not accept a layout of N rows;
    None if it does.
    oldest, newest: the range of compute capabilities that the kernel runs on.
    x_tile: the product pads K of x to a multiple of it.
    """

    spec: FastGemv
    plan: Callable
    misfit: Callable
    oldest: tuple[int, int]
    newest: tuple[int, int]
    x_tile: int = 1

    def takes(self, layout, x_dtype, y_dtype, machine, N, decoders=()):
        """True if the kernel supports this layout of N rows, these dtypes and this machine.

        decoders: (hole, text) pairs, which may need shared memory of their own.
        """
        return self.refusal(layout, x_dtype, y_dtype, machine, N, decoders) is None

    def refusal(self, layout, x_dtype, y_dtype, machine, N, decoders=()):
        """Why the kernel does not support these arguments of `takes`, in words; None if it does."""
        return _refusal(self, layout, x_dtype, y_dtype, machine, N, decoders)

    def prepared(self, shape, N, types, layout, mode, device, decoders=()):
        """A function from tensors to y (..., N), with every decision made except the tensors' data.

        shape: the shape of x (..., K). The function takes x, words, scales, zeros, channel_scales,
        token_scales and bias, with the dtypes of `types`, and levels (float32), on the device; pass
        None for an absent tensor. decoders: (hole, text) pairs that decode the codes; (): they are
        integers. A decoder that takes levels needs them in each call.
        Raises ValueError if the kernel does not support these arguments.
        """
        return _prepared(self, shape, N, types, layout, mode, device, decoders)

    def __call__(self, x, weight, epilogue):
        """y (M, N) for x (M, K), multiplied by the channel and token scales, plus the bias.

        The kernel runs on the current stream of a CUDA device, and in the simulator on a CPU.
        Raises ValueError for operands that the kernel does not support.

        >>> from gemlite_edu import Epilogue, PackedWeight, quantize_linear
        >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(8, 256), 4, 128))
        >>> GEMV_FAST(torch.ones(1, 256).half(), weight, Epilogue(torch.float32))[:, :2]
        tensor([[256., 256.]])
        >>> GEMM_FAST(torch.ones(2, 256).half(), weight, Epilogue(torch.float32))[:, 0]
        tensor([256., 256.])
        """
        if x.dim() != 2 or x.shape[1] != weight.layout.K or x.device != weight.words.device:
            raise ValueError(
                f"x must be (M, {weight.layout.K}) on {weight.words.device}, "
                f"got {tuple(x.shape)} on {x.device}"
            )
        optional = weight.scales, weight.zeros, weight.channel_scales, epilogue.bias
        types = Types(x.dtype, epilogue.y_dtype, *map(_dtype_of, optional))
        if len(x) == 0:
            return x.new_empty((0, weight.N), dtype=types.y)
        product = self.prepared(x.shape, weight.N, types, weight.layout, weight.mode, x.device)
        factors = weight.scales, weight.zeros, weight.channel_scales, epilogue.token_scales
        return product(x, weight.words, *factors, epilogue.bias, None)


def _misfit_of(plan, layout, types, N, machine, decoders):
    """Why the kernel that `plan` launches does not read this layout, or None.

    Raises ValueError if x or groups do not fit.
    """
    weights, K = _weights(layout, decoders), layout.K
    plan(1, N, K + -K % X_TILE, types, weights, machine)
    return _misfit_of_words(layout, weights.layout(K))


def _misfit_of_gemm(layout, types, N, machine, decoders):
    """Why bulk copies cannot read this layout, which needs whole groups and rows, or None."""
    if N % N_TILE:
        return f"N must be a multiple of {N_TILE}"
    if layout.padded_K != layout.K or layout.K > LONGEST_K:
        return f"K = {layout.K} must fill whole tiles, and be {LONGEST_K} at most"
    weights = FastGemm(nbits=layout.nbits, group_size=layout.group_size).weights
    return _misfit_of_words(layout, weights.layout(layout.K))


def _misfit_of_words(layout, reads):
    """Why a kernel that `reads` one layout does not take another, and how to pack; or None."""
    if layout == reads:
        return None
    if isinstance(reads, PlaneTiles):
        return f"it reads what pack(..., packing_bitwidth={reads.word_bits}) makes"
    return (
        f"it reads words in pieces, which pad K = {reads.K} to {reads.padded_K}, and which pack "
        "makes without a packing_bitwidth if the padding is at most 5%"
    )


_NEWEST = (99, 0)
GEMV_FAST = CudaProduct(
    FastGemv(), plan_gemv, partial(_misfit_of, plan_gemv), TURING, _NEWEST, X_TILE
)
GEMM_FAST = CudaProduct(FastGemm(), plan_gemm, _misfit_of_gemm, HOPPER, HOPPER)
GEMM_MMA = CudaProduct(MmaGemm(), plan_mma, partial(_misfit_of, plan_mma), AMPERE, _NEWEST, X_TILE)


@lru_cache(maxsize=1024)
def _refusal(product, layout, x_dtype, y_dtype, machine, N, decoders):
    for name, dtype, takes in (("x", x_dtype, product.spec.x_dtypes), ("y", y_dtype, FLOATS)):
        if dtype not in takes:
            return f"{name} must be {' or '.join(map(name_of, takes))}"
    if not product.oldest <= machine.capability <= product.newest:
        return f"the kernel does not run on compute capability {machine.named}"
    try:
        return product.misfit(layout, Types(x_dtype, y_dtype), N, machine, decoders)
    except ValueError as error:
        return str(error)


@lru_cache(maxsize=4096)
def _prepared(product, shape, N, types, layout, mode, device, decoders):
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"kernels take CPU and CUDA tensors, got tensors on {device}")
    machine = machine_of(device)
    if not product.takes(layout, types.x, types.y, machine, N, decoders):
        raise ValueError(
            f"{product.spec.name} does not take x {types.x}, y {types.y} and N = {N} with {layout} "
            f"on {device}: use triton_product.matmul"
        )
    M, K = shape[:-1].numel(), layout.K
    weights = _weights(layout, decoders, mode)
    plan = product.plan(M, N, K + -K % product.x_tile, types, weights, machine)
    plan.check_rows(M)
    program = _program(plan.product.text, decoders)
    ready = _ready(program, plan, (*shape[:-1], N), types.y, device)
    if K % product.x_tile == 0:
        return ready
    return lambda x, *others: ready(whole_tiles(x, product.x_tile), *others)


def _weights(layout, decoders, mode=WeightMode.SHIFT_SCALE):
    known = known_of(dict(decoders), layout.nbits)
    return FastWeights(layout.nbits, layout.group_size, mode, **known)


@lru_cache
def _program(text, decoders):
    return Program(text, dict(decoders), time_limit=_TIME_LIMIT)


def _ready(program, plan, y_shape, y_dtype, device):
    """A function that maps x, words and the other tensors to y on the device, following `plan`.

    The tensors may be views: each is copied if it is not contiguous or not aligned to 16 bytes.
    """
    if device.type != "cuda":
        return partial(_simulated, program, plan, y_shape, y_dtype)
    launch, empty = program.ready(plan, device), torch.empty(0, dtype=y_dtype, device=device)

    def product(*tensors):
        pointers = aligned_pointers_of(tensors)
        if pointers is None:
            tensors = _all_aligned(tensors)
            pointers = pointers_of(tensors)
        y = empty.new_empty(*y_shape)  # faster than torch.empty, and than passing a tuple
        pointers.append(y.data_ptr())
        launch(pointers)
        return y

    return product


def _simulated(program, plan, y_shape, y_dtype, *tensors):
    x = tensors[0]
    y = x.new_empty(y_shape, dtype=y_dtype)
    M = y.shape[:-1].numel()
    named = dict(zip(_NAMES, _all_aligned(tensors), strict=True))
    program.run(plan, named | {"x": named["x"].reshape(M, -1)}, y.view(M, -1))
    return y


def _all_aligned(tensors):
    return [None if tensor is None else aligned(tensor) for tensor in tensors]


def _dtype_of(tensor):
    return torch.float32 if tensor is None else tensor.dtype
