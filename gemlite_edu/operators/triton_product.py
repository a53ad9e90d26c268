"""The Triton kernels as functions of torch tensors.

CUDA tensors run compiled kernels. CPU tensors run in Triton's interpreter, where the kernels
compute in float32 because the interpreter's bf16 and fp8 arithmetic is wrong.
"""

from dataclasses import dataclass
from functools import partial

import torch

from gemlite_edu.kernels.triton import KERNELS
from gemlite_edu.kernels.triton.configs import default_config, is_gemv
from gemlite_edu.numbers.dtypes import FLOAT8, name_of
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.runners.triton import kernel, launch, replaced

X_DTYPES = (torch.float16, torch.bfloat16, *FLOAT8, torch.int8)
_RESOURCES = ("num_warps", "num_stages")  # of a config
_OUTPUTS_OF_A_PROGRAM = 128  # for add_chunks
_WEIGHTS_OF_A_PROGRAM = 8192  # for dequantize_weights
_OUTPUTS_OF_A_TURN = 4096  # for add_chunks in the interpreter


@dataclass(frozen=True)
class Epilogue:
    """What follows a sum over K: multiply by token_scales (M,), add bias (N,), cast to y_dtype."""

    y_dtype: torch.dtype
    token_scales: torch.Tensor | None = None
    bias: torch.Tensor | None = None


def matmul(
    name,
    x,
    weight,
    config=None,
    epilogue=None,
    *,
    dot_dtype=torch.float32,
    atomic=False,
    replace=None,
):
    """Compute y (M, N) = x W^T with the kernel `name`, apply the scales, and add the bias.

    x: (M, K), contiguous, fp16, bf16, fp8 or int8. weight: a `PackedWeight`.
    config: how the kernel is cut into programs, see `kernels.triton.configs`; None: a default.
    epilogue: an `Epilogue`; None: y has the dtype of x, or int32 for int8 x.
    dot_dtype: the dtype in which tensor cores accumulate a group or a tile: torch.float16 is faster
    on some GPUs and less exact. The GEMVs and the interpreter always accumulate in float32.
    atomic: programs add their chunks of K with atomics, in any order, instead of in a second pass.
    replace: {name: python function}, see `runners.triton.replaced`. On the CPU, a replaced kernel
    that accesses memory outside its tensors raises KernelFault.
    Raises TypeError or ValueError for an unsupported x or an unknown kernel.

    >>> from gemlite_edu import PackedWeight, quantize_linear
    >>> weight = PackedWeight.from_quantized(quantize_linear(torch.ones(2, 32), 4))
    >>> matmul("gemv", torch.ones(1, 32).half(), weight)
    tensor([[32., 32.]], dtype=torch.float16)
    """
    x = _checked(name, x, weight)
    interpreted = x.device.type == "cpu"
    config = config or default_config(name, len(x), weight.N, interpreted)
    epilogue = epilogue or Epilogue(torch.int32 if x.dtype == torch.int8 else x.dtype)
    types = _Types(x, weight, epilogue.y_dtype, dot_dtype)
    y = torch.empty((len(x), weight.N), dtype=types.y, device=x.device)
    if len(x):
        function = replaced(name, interpreted, replace) if replace else kernel(name, interpreted)
        run = partial(launch, function, interpreted, watched=bool(replace))
        with torch.cuda.device_of(x):
            _launch(run, name, weight.layout.pad(x), weight, config, epilogue, types, atomic, y)
    return y if y.dtype == epilogue.y_dtype else rounded(y, epilogue.y_dtype)


def _checked(name, x, weight):
    """x, made contiguous. Raises unless the kernel exists and x fits the weight."""
    if name not in KERNELS:
        raise ValueError(f"there is no Triton kernel {name!r}: there are {', '.join(KERNELS)}")
    if not isinstance(x, torch.Tensor) or x.dim() != 2 or x.shape[1] != weight.layout.K:
        came = tuple(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
        raise ValueError(f"x must be a tensor (M, {weight.layout.K}), got {came}")
    if x.dtype not in X_DTYPES:
        raise TypeError(f"x must be one of {', '.join(map(str, X_DTYPES))}, got {x.dtype}")
    is_e4m3 = torch.float8_e4m3fn in (x.dtype, weight.words.dtype)
    if is_e4m3 and x.is_cuda and torch.cuda.get_device_capability(x.device) < (8, 9):
        raise ValueError("fp8 e4m3 needs a GPU of compute capability 8.9 or more: use e5m2, int8")
    if x.device != weight.words.device:
        raise ValueError(f"x is on {x.device} and the weight on {weight.words.device}: move one")
    return x.contiguous()


def _launch(run, name, x, weight, config, epilogue, types, atomic, y):
    if name == "gemm":
        _launch_gemm(run, x, weight, config, epilogue, types, y)
    else:
        chunk_sums = _launch_split(run, name, x, weight, config, types, atomic)
        add_chunks(chunk_sums, weight.channel_scales, epilogue, y)


def dense(weight, dtype):
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


def dense_block(layout):
    """Rows of W that one program of `dequantize_weights` writes."""
    return max(_WEIGHTS_OF_A_PROGRAM // layout.tile, 1)


def rounded(y, dtype):
    """y cast to `dtype` by torch; values beyond the range of fp8 saturate."""
    if dtype in FLOAT8:
        largest = torch.finfo(dtype).max
        y = y.clamp(-largest, largest)
    return y.to(dtype)


class _Types:
    """The torch dtypes in which a product is computed, accumulated and stored."""

    def __init__(self, x, weight, y_dtype, dot_dtype):
        self.interpreted = x.device.type == "cpu"
        is_int8 = x.dtype == torch.int8
        unscaled = weight.mode in (WeightMode.NONE, WeightMode.SHIFT)
        self.sums = torch.int32 if is_int8 and unscaled else torch.float32
        self.dot = torch.float32 if self.interpreted else dot_dtype
        if is_int8 and weight.words.dtype == torch.int8 and _multiplies_int8(x.device):
            self.compute, self.dot = torch.int8, torch.int32
        elif self.interpreted:
            self.compute = torch.float32
        else:
            self.compute = torch.bfloat16 if x.dtype == torch.bfloat16 else torch.float16
        torch_rounds = self.interpreted or y_dtype in FLOAT8
        self.y = torch.float32 if torch_rounds and y_dtype.is_floating_point else y_dtype


def _multiplies_int8(device):
    """True if tl.dot supports int8 on the device, as GPUs since Ampere do.

    Elsewhere fp16 stands in, because it represents every int8.
    """
    return device.type == "cpu" or torch.cuda.get_device_capability(device) >= (8, 0)


def _launch_gemm(run, x, weight, config, epilogue, types, y):
    M, N = len(x), weight.N
    grid = (-(-N // config["BLOCK_N"]), -(-M // config["BLOCK_M"]))
    run(
        grid, x, *weight.tensors, weight.channel_scales, epilogue.token_scales, epilogue.bias, y,
        M, N, x.shape[1], **weight.meta, **_dot_types(types), ACC_DTYPE=triton_dtype(types.sums),
        **_named(config, "BLOCK_M", "BLOCK_N", *_RESOURCES),
    )  # fmt: skip


def _launch_split(run, name, x, weight, config, types, atomic):
    """Launch the kernel; returns a sum per chunk of K (chunks, M, N), or the total if `atomic`."""
    M, N, K = len(x), weight.N, x.shape[1]
    chunks = min(config["chunks"], K // weight.layout.tile)
    make = torch.zeros if atomic else torch.empty
    chunk_sums = make((1 if atomic else chunks, M, N), dtype=types.sums, device=x.device)
    if is_gemv(name):
        meta = _named(config, "BLOCK_N", *_RESOURCES) | {"STAGES": config["num_stages"]}
        grid = (M * -(-N // meta["BLOCK_N"]), chunks)
    else:
        meta = _named(config, "BLOCK_M", "BLOCK_N", *_RESOURCES) | _dot_types(types)
        grid = (-(-N // meta["BLOCK_N"]), -(-M // meta["BLOCK_M"]), chunks)
    run(
        grid, x, *weight.tensors, chunk_sums, M, N, K, **weight.meta, ATOMIC=atomic, **meta,
    )  # fmt: skip
    return chunk_sums


def add_chunks(chunk_sums, channel_scales, epilogue, y):
    """Add the chunks' sums (chunks, M, N), apply channel scales and epilogue, write y (M, N)."""
    chunks, M, N = chunk_sums.shape
    interpreted = y.device.type == "cpu"
    block = _OUTPUTS_OF_A_TURN if interpreted else _OUTPUTS_OF_A_PROGRAM
    launch(
        kernel("add_chunks", interpreted), interpreted, (M * -(-N // block),),
        chunk_sums, channel_scales, epilogue.token_scales, epilogue.bias, y, M, N, CHUNKS=chunks,
        BLOCK=block, num_warps=1,
    )  # fmt: skip


def _named(config, *names):
    return {name: config[name] for name in names}


def _dot_types(types):
    return {"DTYPE": triton_dtype(types.compute), "DOT_DTYPE": triton_dtype(types.dot)}


def triton_dtype(dtype):
    """The Triton dtype for a torch dtype."""
    import triton.language as tl

    return getattr(tl, name_of(dtype))
