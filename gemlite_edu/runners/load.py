"""One way to call every CUDA kernel. `load` picks the runner, a call checks the data."""

import torch

from gemlite_edu.kernels.gemm_fast import FAST_GEMM
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS
from gemlite_edu.kernels.ternary import TERNARY_KERNELS
from gemlite_edu.numbers.quantize import check_nbits
from gemlite_edu.runners.batch_kernel import BatchKernel
from gemlite_edu.runners.fast_kernel import FastKernel, SparseFastKernel
from gemlite_edu.runners.kernel import Kernel
from gemlite_edu.runners.ternary_kernel import TernaryKernel

_FAST = {
    "gemv_a16wn_fast": FastKernel,
    "gemv_a16w7_sparse_fast": SparseFastKernel,
    "gemm_a16wn_fast": BatchKernel,
}
_LAUNCHES = KERNELS | FAST_KERNELS | FAST_GEMM
_NAMES = (*_LAUNCHES, *TERNARY_KERNELS)
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
    """The kernel `name`, ready to be called: `y = kernel(x, W, scales, zeros)`.

    What a call takes and gives: `Kernel`; where the name ends in fast, `FastKernel`,
    `SparseFastKernel` and `BatchKernel`; of the kernels for ternary weights, whose name says a8w2,
    `TernaryKernel`.

    nbits: width of the codes, 1 to 8, for kernels whose name says wn; 8, 4, 2 or 1 of the fast
        GEMV, 8, 4 or 2 of the fast product.
    x_dtype: of x; None is the kernel's first: torch.float16, or torch.int8 where its name says a8.
    replace: {hole: CUDA text} to stand in the kernel's holes, e.g. {"dequant_dot": my_text}.
    device: "cpu" compiles for the simulator now, "cuda" for the current GPU now; "auto" compiles at
        the first call for where its tensors are. How many rows x has is compiled in, as 1, 2, 4 or
        8 at a time; "now" compiles for one.
    time_limit: seconds after which the simulator stops a kernel.
    group_size: how many neighbours along K share a scale and zero; None: all of a row.
    y_dtype: of ternary kernels: torch.int32, as None, or torch.float16 or torch.bfloat16, scaled.
    fragment: of gemm_a8w2_wmma: "8x32x16", "16x16x16", as None, or "32x8x16": tokens x outputs x k.

    Raises ValueError or TypeError for unknown names, widths, dtypes, holes and texts that do not
    compile; RuntimeError without a compiler.
    """
    if not isinstance(name, str) or name not in _NAMES:
        raise ValueError(f"there is no kernel {name!r}; there are {', '.join(_NAMES)}")
    _check_runner(device, time_limit)
    if name in TERNARY_KERNELS:
        if not (nbits in (None, 2) and x_dtype in (None, torch.int8) and group_size is None):
            raise ValueError(
                f"{name} has 2-bit weights without groups and int8 x: "
                "leave nbits, x_dtype and group_size out"
            )
        kernel = TernaryKernel(name, y_dtype, fragment, replace, device, time_limit)
    else:
        if not (y_dtype is None and fragment is None):
            raise ValueError(f"y_dtype and fragment are for ternary weights: not for {name}")
        launch = _LAUNCHES[name]
        x_dtype = _checked_x_dtype(name, launch, x_dtype)
        _check_nbits_of(name, launch, nbits)
        _check_group_size(name, launch, group_size)
        make = _FAST.get(name, Kernel)
        kernel = make(name, nbits, x_dtype, replace, device, time_limit, group_size)
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


def _checked_x_dtype(name, launch, x_dtype):
    x_dtypes = launch.x_dtypes
    x_dtype = x_dtypes[0] if x_dtype is None else x_dtype
    if x_dtype not in x_dtypes:
        takes = " or ".join(map(str, x_dtypes))
        raise ValueError(f"x_dtype must be {takes} for {name}, got {x_dtype}")
    return x_dtype


def _check_nbits_of(name, launch, nbits):
    if launch.takes_nbits and nbits is None:
        raise TypeError(f"{name} needs nbits, the width of its codes")
    if launch.takes_nbits:
        check_nbits(nbits)
    elif nbits is not None:
        has = "weights of one width" if launch.is_packed else "unquantized weights"
        raise ValueError(f"{name} takes {has}: leave nbits out")


def _check_group_size(name, launch, group_size):
    if group_size is None:
        return
    if not launch.is_packed:
        raise ValueError(f"{name} takes unquantized weights: leave group_size out")
    if not isinstance(group_size, int) or isinstance(group_size, bool) or group_size < 1:
        raise ValueError(f"group_size must be an int of 1 or more, or None, got {group_size!r}")
