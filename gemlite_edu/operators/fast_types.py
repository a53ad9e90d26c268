"""Which CUDA kernels there are for a layout of weights, on the machine where they are."""

from functools import cache

from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.operators import batch_times
from gemlite_edu.operators.cuda_product import GEMM_FAST, GEMV_FAST
from gemlite_edu.operators.matmul_choices import choose
from gemlite_edu.runners import cuda

FAST = {"GEMV_FAST": GEMV_FAST, "GEMM_FAST": GEMM_FAST}  # {matmul type: `CudaProduct`}
_NOTHING = "__global__ void nothing() {}"


def fast_types(layout, x_dtype, y_dtype, device, N):
    """Those of `FAST` for N rows of such weights, x and y: none on the CPU, or if none compiles.

    The simulator takes seconds where Triton's interpreter takes milliseconds.
    """
    if device.type != "cuda":
        return ()
    names = tuple(name for name in FAST if _is_taken(name, layout, x_dtype, y_dtype, device, N))
    return names if names and _compiles(machine_of(device).capability) else ()


def chosen(kind, M, N, layout, x_dtype, y_dtype, device, is_captured=False):
    """The matmul type for M rows of x and N rows of such weights, in a call or in a CUDA graph.

    Where others would dequantize, GEMM_FAST is taken unless its tiles fill the GPU so unevenly that
    it should take longer: `batch_times`.
    """
    name = choose(kind, M, fast_types(layout, x_dtype, y_dtype, device, N))
    if name == "GEMM_FAST" and choose(kind, M) == "DEQUANTIZE":
        weights = FastWeights(layout.nbits, layout.group_size)
        if batch_times.is_sooner_dense(M, N, layout.K, weights, is_captured):
            return "DEQUANTIZE"
    return name


def check_taken(name, layout, x_dtype, y_dtype, device, N):
    """Raise unless that one of `FAST` takes such weights, x and y, on the CPU the simulator."""
    if not _is_taken(name, layout, x_dtype, y_dtype, device, N):
        raise ValueError(
            f"{name} does not take {name_of(x_dtype)} x, {name_of(y_dtype)} y and N = {N} with "
            f"{layout} on {device}: take another matmul_type"
        )


def _is_taken(name, layout, x_dtype, y_dtype, device, N):
    return FAST[name].takes(layout, x_dtype, y_dtype, machine_of(device), N)


@cache
def _compiles(capability):
    """Whether CUDA kernels can be compiled for such a GPU; says once if not."""
    try:
        cuda.build_kernel(_NOTHING, "nothing", {}, capability)
    except (RuntimeError, ValueError, OSError) as error:
        print(
            "CUDA kernels cannot be compiled here, and GemLiteLinear takes its Triton kernels, "
            f"which are slower for few rows: {error}"
        )
        return False
    return True
