"""`load`: the kernels by name."""

import torch

from gemlite_edu.kernels import gemm_fast, gemv, gemv_fast, ternary
from gemlite_edu.runners.kernel import Kernel

KERNELS = gemv.KERNELS | gemv_fast.FAST_KERNELS | gemm_fast.FAST_GEMM | ternary.TERNARY_KERNELS
_TIME_LIMIT = 60.0
_LONGEST_TIME_LIMIT = 86400


def load(
    name,
    nbits=None,
    x_dtype=None,
    replace=None,
    device="auto",
    time_limit=_TIME_LIMIT,
    group_size=None,
    y_dtype=None,
    fragment=None,
):
    """The `Kernel` `name`, ready to be called: `y = kernel(x, W, scales, zeros)`.

    nbits: width of the codes, 1 to 8, for kernels whose name says wn; 8, 4, 2 or 1 of the fast
        GEMV, 8, 4 or 2 of the fast product.
    x_dtype: of x; None is the kernel's first: torch.float16, or torch.int8 where its name says a8.
    replace: {hole: CUDA text} to stand in the kernel's holes, e.g. {"dequant_dot": my_text}.
    device: "cpu" compiles for the simulator now, "cuda" for the current GPU now; "auto" compiles at
        the first call for where its tensors are. How many rows x has is compiled in, as 1, 2, 4 or
        8 at a time; "now" compiles for one.
    time_limit: seconds of processor time after which the simulator stops a kernel.
    group_size: how many neighbours along K share a scale and zero; None: all of a row.
    y_dtype: of ternary kernels: torch.int32, as None, or torch.float16 or torch.bfloat16, scaled.
    fragment: of gemm_a8w2_wmma: "8x32x16", "16x16x16", as None, or "32x8x16": tokens x outputs x k.

    Raises ValueError or TypeError for unknown names, widths, dtypes, holes and texts that do not
    compile; RuntimeError without a compiler.
    """
    if not isinstance(name, str) or name not in KERNELS:
        raise ValueError(f"there is no kernel {name!r}; there are {', '.join(KERNELS)}")
    _check_runner(device, time_limit)
    spec = KERNELS[name].completed(nbits, x_dtype, group_size, y_dtype, fragment)
    kernel = Kernel(spec, replace, device, time_limit)
    if device == "cpu":
        kernel.compile_for_simulator()
    elif device == "cuda":
        kernel.compile_for_gpu(torch.device("cuda", torch.cuda.current_device()))
    return kernel


def _check_runner(device, time_limit):
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("torch sees no CUDA GPU here: load with device='cpu' for the simulator")
    if not isinstance(time_limit, (int, float)) or not 0 < time_limit <= _LONGEST_TIME_LIMIT:
        raise ValueError(
            f"time_limit must be seconds, up to {_LONGEST_TIME_LIMIT}, got {time_limit!r}"
        )
