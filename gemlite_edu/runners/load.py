"""`load`, which finds a CUDA kernel by name, and the operator that stands for a call of it.

torch.compile and torch.export see the operator, `gemlite_edu::kernel`, which finds the kernel again
by the arguments of `load`. Other calls do without it, because that takes the host less time.
"""

import difflib
import json
from functools import cache
from typing import Any, Literal

import torch

from gemlite_edu.kernels import gemm_fast, gemm_mma, gemv, gemv_fast, ternary, ternary_fast
from gemlite_edu.kernels.pair_table import PairTable
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.packing.bitnet_fragments import Fragment
from gemlite_edu.runners.kernel import Kernel

KERNELS = (
    gemv.KERNELS
    | gemv_fast.FAST_KERNELS
    | gemm_fast.FAST_GEMM
    | gemm_mma.MMA_GEMM
    | ternary.TERNARY_KERNELS
    | ternary_fast.FAST_TERNARY
)
_TIME_LIMIT = 60.0
_LONGEST_TIME_LIMIT = 86400


def load(
    name: str,
    nbits: int | None = None,
    x_dtype: torch.dtype | None = None,
    replace: dict[str, str] | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    time_limit: float = _TIME_LIMIT,
    group_size: int | None = None,
    y_dtype: torch.dtype | None = None,
    fragment: Fragment | None = None,
) -> Kernel:
    """Return the `Kernel` called `name`; call it as `y = kernel(x, W, scales, zeros)`.

    nbits: width of the codes for kernels with wn in their name: 1 to 8.
    x_dtype: dtype of x; None: torch.float16, or torch.int8 for kernels with a8 in their name.
    replace: {hole: CUDA text} to put into the kernel's holes, e.g. {"dequant_dot": my_text}.
    device: "cpu" compiles for the simulator now, "cuda" for the current GPU now; "auto" compiles at
        the first call, for the device of its tensors. A build handles 1, 2, 4 or 8 rows of x at a
        time; "cpu" and "cuda" compile now for one row.
    time_limit: seconds of processor time after which the simulator stops a kernel.
    group_size: how many neighbours along K share a scale and zero; None: the whole row.
    y_dtype: for ternary kernels: torch.int32 (the default), or torch.float16 or torch.bfloat16,
        which are scaled.
    fragment: for gemm_a8w2_wmma, as tokens x outputs x k: "8x32x16", "16x16x16" (the default) or
        "32x8x16".

    Raises ValueError or TypeError for unknown names, widths, dtypes and holes, and for texts that
    do not compile; RuntimeError if there is no compiler.
    """
    if not isinstance(name, str) or name not in KERNELS:
        near = difflib.get_close_matches(str(name), KERNELS, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"there is no kernel {name!r}{meant}; there are {', '.join(KERNELS)}")
    _check_runner(device, time_limit)
    spec = KERNELS[name].completed(nbits, x_dtype, group_size, y_dtype, fragment)
    kernel = Kernel(spec, replace, device, time_limit)
    arguments = name, nbits, x_dtype, replace, device, time_limit, group_size, y_dtype, fragment
    kernel.recipe = _as_recipe((*arguments, kernel.levels))
    if device == "cpu":
        kernel.compile_for_simulator()
    elif device == "cuda":
        kernel.compile_for_gpu(torch.device("cuda", torch.cuda.current_device()))
    return kernel


def _as_recipe(arguments: tuple[Any, ...]) -> str:
    """The arguments of `load`, and the levels of a `PairTable` among them, as JSON: torch operators
    take no Python objects."""
    return json.dumps(arguments, default=name_of)


@cache
def _of_recipe(recipe: str) -> Kernel:
    """The `Kernel` of `load` with the arguments in a `Kernel.recipe`."""
    name, nbits, x_dtype, replace, device, time_limit, *others = json.loads(recipe)
    group_size, y_dtype, fragment, levels = (*others, None)[:4]  # an old recipe has no levels
    replace = replace if levels is None else PairTable(replace, tuple(levels))
    x_dtype, y_dtype = (d and getattr(torch, d) for d in (x_dtype, y_dtype))
    return load(name, nbits, x_dtype, replace, device, time_limit, group_size, y_dtype, fragment)


def _check_runner(device: str, time_limit: float) -> None:
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("torch sees no CUDA GPU here: load with device='cpu' for the simulator")
    if not isinstance(time_limit, (int, float)) or not 0 < time_limit <= _LONGEST_TIME_LIMIT:
        raise ValueError(
            f"time_limit must be seconds, up to {_LONGEST_TIME_LIMIT}, got {time_limit!r}"
        )


@torch.library.custom_op("gemlite_edu::kernel", mutates_args=())
def _kernel(
    x: torch.Tensor,
    W: torch.Tensor,
    scales: torch.Tensor | None,
    zeros: torch.Tensor | None,
    token_scales: torch.Tensor | None,
    scale: float | None,
    zero: float | None,
    token_scale: float | None,
    N: int | None,
    recipe: str,
    levels: torch.Tensor | None = None,
) -> torch.Tensor:
    """y (M, N) of the kernel that `recipe` makes; each factor is a tensor, a number or absent."""
    tensors, numbers = (scales, zeros, token_scales), (scale, zero, token_scale)
    factors = [n if t is None else t for t, n in zip(tensors, numbers, strict=True)]
    scales, zeros, token_scales = factors
    kernel = _of_recipe(recipe)
    return kernel(x, W, scales, zeros, token_scales=token_scales, N=N, levels=levels)


@_kernel.register_fake
def _(
    x: torch.Tensor,
    W: torch.Tensor,
    scales: torch.Tensor | None,
    zeros: torch.Tensor | None,
    token_scales: torch.Tensor | None,
    scale: float | None,
    zero: float | None,
    token_scale: float | None,
    N: int | None,
    recipe: str,
    levels: torch.Tensor | None = None,
) -> torch.Tensor:
    spec = _of_recipe(recipe).spec
    M, N, _ = spec.shape(x, W, N)
    return x.new_empty((M, N), dtype=spec.y_dtype)
