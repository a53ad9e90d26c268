"""The Triton kernels as functions of torch tensors.

CUDA tensors run compiled kernels. CPU tensors run in Triton's interpreter, where the kernels
compute in float32 because the interpreter's bf16 and fp8 arithmetic is wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch

from gemlite_edu.kernels.machine import AMPERE
from gemlite_edu.kernels.triton import KERNELS
from gemlite_edu.kernels.triton.configs import Config, default_config, is_gemv
from gemlite_edu.numbers.dtypes import FLOAT8, name_of
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.runners.triton import kernel, launch, replaced

X_DTYPES = (torch.float16, torch.bfloat16, *FLOAT8, torch.int8)
BF16_NEEDS_AMPERE = "the Triton kernels take bfloat16 x from compute capability 8.0 on: use float16"
_OF_EACH_KERNEL = ("BLOCK_N", "num_warps", "num_stages")  # of a config
_OUTPUTS_OF_A_PROGRAM = 128  # of add_chunks
_WEIGHTS_OF_A_PROGRAM = 8192  # of dequantize_weights
_OUTPUTS_OF_A_TURN = 4096  # of add_chunks in the interpreter


@dataclass(frozen=True)
class Epilogue:
    """What follows a sum over K: multiply by token_scales (M,), add bias (N,), cast to y_dtype."""

    y_dtype: torch.dtype
    token_scales: torch.Tensor | None = None
    bias: torch.Tensor | None = None


def matmul(
    name: str,
    x: torch.Tensor,
    weight: PackedWeight,
    config: Config | None = None,
    epilogue: Epilogue | None = None,
    *,
    dot_dtype: torch.dtype = torch.float32,
    atomic: bool = False,
    replace: Mapping[str, Callable[..., Any]] | None = None,
) -> torch.Tensor:
    """Compute y (M, N) = x W^T with the kernel `name`, apply the scales, and add the bias.

    x: (M, K), contiguous, fp16, bf16, fp8 or int8. weight: a `PackedWeight`.
    config: how the kernel is cut into programs, see `kernels.triton.configs`; None: a default.
    epilogue: an `Epilogue`; None: y has the dtype of x, or int32 for int8 x.
    dot_dtype: the dtype in which tensor cores accumulate a group or a tile: torch.float16 is faster
    on some GPUs and less exact. The GEMVs and the interpreter always accumulate in float32.
    atomic: programs add their chunks of K with atomics, in any order, instead of in a second pass.
    replace: {name: python function}, see `runners.triton.replaced`. On the CPU, a replaced kernel
    raises KernelFault for what `run_watched` finds.
    Raises TypeError or ValueError for an unsupported x or an unknown kernel.

    >>> from gemlite_edu import PackedWeight, quantize_linear
    >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(2, 32), 4))
    >>> matmul("gemv", torch.ones(1, 32).half(), weight)
    tensor([[32., 32.]], dtype=torch.float16)
    """
    x = _checked(name, x, weight)
    M, N, interpreted = len(x), weight.N, x.device.type == "cpu"
    config = config or default_config(name, M, N, interpreted)
    epilogue = epilogue or Epilogue(torch.int32 if x.dtype == torch.int8 else x.dtype)
    y_dtype = epilogue.y_dtype
    types = _types(x.device, x.dtype, weight.words.dtype, weight.mode, y_dtype, dot_dtype)
    y = torch.empty((M, N), dtype=types.y, device=x.device)
    if M:
        function = replaced(name, interpreted, replace) if replace else kernel(name, interpreted)
        run = partial(launch, function, interpreted, watched=bool(replace))
        x = weight.layout.pad(x)
        with torch.cuda.device_of(x):
            if name == "gemm":
                _launch_gemm(run, x, weight, config, epilogue, types, y)
            else:
                _launch_split(run, name, x, weight, config, epilogue, types, atomic, y)
    if y_dtype in FLOAT8:  # what it cannot reach becomes its largest number
        largest = torch.finfo(y_dtype).max
        y = y.clamp(-largest, largest)
    return y if y.dtype == y_dtype else y.to(y_dtype)


def _checked(name: str, x: torch.Tensor, weight: PackedWeight) -> torch.Tensor:
    """x, made contiguous. Raises unless the kernel exists and x fits the weight."""
    if name not in KERNELS:
        raise ValueError(f"there is no Triton kernel {name!r}: there are {', '.join(KERNELS)}")
    if not isinstance(x, torch.Tensor) or x.dim() != 2 or x.shape[1] != weight.layout.K:
        came = tuple(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
        raise ValueError(f"x must be a tensor (M, {weight.layout.K}), got {came}")
    if x.dtype not in X_DTYPES:
        raise TypeError(f"x must be one of {', '.join(map(str, X_DTYPES))}, got {x.dtype}")
    is_bf16 = x.dtype == torch.bfloat16
    if is_bf16 and x.is_cuda and torch.cuda.get_device_capability(x.device) < AMPERE:
        raise ValueError(BF16_NEEDS_AMPERE)
    is_e4m3 = torch.float8_e4m3fn in (x.dtype, weight.words.dtype)
    if is_e4m3 and x.is_cuda and torch.cuda.get_device_capability(x.device) < (8, 9):
        raise ValueError("fp8 e4m3 needs a GPU of compute capability 8.9 or more: use e5m2, int8")
    if x.device != weight.words.device:
        raise ValueError(f"x is on {x.device} and the weight on {weight.words.device}: move one")
    return x.contiguous()


def dense(weight: PackedWeight, dtype: torch.dtype) -> torch.Tensor:
    """The dense W (N, layout.padded_K), dequantized in float32 and rounded once to `dtype`.

    Its columns match those of `layout.pad(x)`; a padded column holds the value of code 0.
    """
    layout, N, device = weight.layout, weight.N, weight.words.device
    interpreted = device.type == "cpu"
    W = torch.empty(
        (N, layout.padded_K), dtype=torch.float32 if interpreted else dtype, device=device
    )
    block = 1024 if interpreted else dense_block(layout)
    with torch.cuda.device_of(W):
        launch(
            kernel("dequantize_weights", interpreted),
            interpreted,
            (-(-N // block) * (layout.padded_K // layout.tile),),
            *weight.tensors,
            weight.channel_scales,
            W,
            N,
            layout.padded_K,
            **weight.meta,
            BLOCK_N=block,
        )
    return W.to(dtype)


def dense_block(layout: PlaneTiles | PlainTiles) -> int:
    """Rows of W that one program of `dequantize_weights` writes."""
    return max(_WEIGHTS_OF_A_PROGRAM // layout.tile, 1)


class _Types(NamedTuple):
    """In which types products are computed, added up in a tile and over K, and stored; torch's."""

    compute: torch.dtype
    dot: torch.dtype
    sums: torch.dtype
    y: torch.dtype


@lru_cache
def _types(
    device: torch.device,
    x_dtype: torch.dtype,
    words_dtype: torch.dtype,
    mode: WeightMode,
    y_dtype: torch.dtype,
    dot_dtype: torch.dtype,
) -> _Types:
    interpreted, is_int8 = device.type == "cpu", x_dtype == torch.int8
    unscaled = mode in (WeightMode.NONE, WeightMode.SHIFT)
    sums = torch.int32 if is_int8 and unscaled else torch.float32
    if is_int8 and words_dtype == torch.int8 and _multiplies_int8(device):
        compute, dot = torch.int8, torch.int32
    elif interpreted:
        compute, dot = torch.float32, torch.float32
    else:
        compute = torch.bfloat16 if x_dtype == torch.bfloat16 else torch.float16
        dot = dot_dtype
    torch_rounds = interpreted or y_dtype in FLOAT8
    y = torch.float32 if torch_rounds and y_dtype.is_floating_point else y_dtype
    return _Types(compute, dot, sums, y)


def _multiplies_int8(device: torch.device) -> bool:
    """True if tl.dot supports int8 on the device, as GPUs since Ampere do.

    Elsewhere fp16 stands in, because it represents every int8.
    """
    return device.type == "cpu" or torch.cuda.get_device_capability(device) >= (8, 0)


def _launch_gemm(
    run: Callable[..., None],
    x: torch.Tensor,
    weight: PackedWeight,
    config: Config,
    epilogue: Epilogue,
    types: _Types,
    y: torch.Tensor,
) -> None:
    M, N = len(x), weight.N
    grid = (-(-N // config["BLOCK_N"]), -(-M // config["BLOCK_M"]))
    run(
        grid, x, *weight.tensors, weight.channel_scales, epilogue.token_scales, epilogue.bias, y,
        M, N, x.shape[1], **weight.meta, **_dot_types(types), ACC_DTYPE=triton_dtype(types.sums),
        BLOCK_M=config["BLOCK_M"], **{name: config[name] for name in _OF_EACH_KERNEL},
    )  # fmt: skip


def _launch_split(
    run: Callable[..., None],
    name: str,
    x: torch.Tensor,
    weight: PackedWeight,
    config: Config,
    epilogue: Epilogue,
    types: _Types,
    atomic: bool,
    y: torch.Tensor,
) -> None:
    """Sums of chunks of K, and then y; atomic: the chunks are one sum already."""
    M, N, K = len(x), weight.N, x.shape[1]
    chunks = min(config["chunks"], K // weight.layout.tile)
    make = torch.zeros if atomic else torch.empty
    chunk_sums = make((1 if atomic else chunks, M, N), dtype=types.sums, device=x.device)
    if is_gemv(name):
        own = {"STAGES": config["num_stages"]}
        grid = (M * -(-N // config["BLOCK_N"]), chunks)
    else:
        own = {"BLOCK_M": config["BLOCK_M"]} | _dot_types(types)
        grid = (-(-N // config["BLOCK_N"]), -(-M // config["BLOCK_M"]), chunks)
    run(
        grid, x, *weight.tensors, chunk_sums, M, N, K, **weight.meta, ATOMIC=atomic, **own,
        **{name: config[name] for name in _OF_EACH_KERNEL},
    )  # fmt: skip
    add_chunks(chunk_sums, weight.channel_scales, epilogue, y)


def add_chunks(
    chunk_sums: torch.Tensor,
    channel_scales: torch.Tensor | None,
    epilogue: Epilogue,
    y: torch.Tensor,
) -> None:
    """Add the chunks' sums (chunks, M, N), apply channel scales and epilogue, write y (M, N)."""
    chunks, M, N = chunk_sums.shape
    interpreted = y.device.type == "cpu"
    block = _OUTPUTS_OF_A_TURN if interpreted else _OUTPUTS_OF_A_PROGRAM
    launch(
        kernel("add_chunks", interpreted), interpreted, (M * -(-N // block),),
        chunk_sums, channel_scales, epilogue.token_scales, epilogue.bias, y, M, N, CHUNKS=chunks,
        BLOCK=block, num_warps=1,
    )  # fmt: skip


def _dot_types(types: _Types) -> dict[str, Any]:
    return {"DTYPE": triton_dtype(types.compute), "DOT_DTYPE": triton_dtype(types.dot)}


def triton_dtype(dtype: torch.dtype) -> Any:
    """The Triton dtype for a torch dtype."""
    import triton.language as tl

    return getattr(tl, name_of(dtype))
