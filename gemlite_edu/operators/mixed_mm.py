"""Products with packed int4 weights, forward and transposed, after torchao's triton_mixed_mm."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import torch

from gemlite_edu.kernels.triton.configs import Config
from gemlite_edu.kernels.triton.mixed_mm_configs import (
    block_k,
    candidates,
    check_config,
    default_config,
)
from gemlite_edu.numbers.checks import check_flag, check_no_grad
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.operators import tuning
from gemlite_edu.operators.choose import INT4_RULES, Rows, choose
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.triton_product import Epilogue, add_chunks, triton_dtype
from gemlite_edu.runners.triton import kernel, launch, replaced

A_DTYPES = (torch.float16, torch.bfloat16)
KernelType = Literal["compute_bound", "max_autotune", "dequantize"]
InputPrecision = Literal["ieee", "tf32", "tf32x3"]
KERNEL_TYPES = get_args(KernelType)
_INPUT_PRECISIONS = get_args(InputPrecision)


def triton_mixed_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    group_size: int,
    transposed: bool = False,
    acc_dtype: torch.dtype | None = None,
    input_precision: InputPrecision = "ieee",
    fp8_fast_accum: bool = False,
    kernel_type: KernelType = "compute_bound",
    config: Config | None = None,
) -> torch.Tensor:
    """Multiply a (M, K) by W^T (K, N), or if `transposed` a (M, N) by W (N, K).

    a: fp16 or bf16; the result has its dtype. b: bytes (K / 2, N) from `pack_2xint4(W_q.T)`, uint8
    for codes 0 to 15, int8 for -8 to 7. scales, zeros: (K / group_size, N), any strides;
    W ~ (W_q - zeros) * scales. group_size: codes along K that share a scale; any divisor of K.
    acc_dtype: torch.float16 lets the tensor cores of the fused kernel accumulate a tile in fp16;
    torch.float32 or None: in fp32.
    input_precision, fp8_fast_accum: accepted because torchao's calls pass them; they do not affect
    16-bit a.
    kernel_type: "compute_bound" follows `choose.INT4_RULES` and tries the fused kernel only in
    blocks of 64 rows and more; "max_autotune" also tries smaller blocks and more ways to split the
    sum, and takes the fastest; "dequantize" makes W (N, K) dense in each call and uses torch's
    product. A dense W has the dtype of a.
    config: how to cut the fused kernel into programs, see `kernels.triton.mixed_mm_configs`; it
    forces the fused kernel for any M and kernel_type. None: the first call with new shapes on a GPU
    measures which config is fastest.

    The function has no backward, and torch.compile cannot trace it: use `Int4Linear` for both.
    Raises TypeError or ValueError for any other operand.
    Source: torchao's triton_mixed_mm.

    >>> from gemlite_edu import pack_2xint4
    >>> b = pack_2xint4(torch.full((4, 2), 9, dtype=torch.uint8))
    >>> scales, zeros = torch.ones(1, 2), torch.full((1, 2), 8.0)
    >>> triton_mixed_mm(torch.ones(1, 4).half(), b, scales, zeros, group_size=4)
    tensor([[4., 4.]], dtype=torch.float16)
    >>> triton_mixed_mm(torch.ones(1, 2).half(), b, scales, zeros, 4, transposed=True)
    tensor([[2., 2., 2., 2.]], dtype=torch.float16)
    """
    weight = Int4Weight(b, scales, zeros, group_size)
    _check_options(transposed, acc_dtype, input_precision, kernel_type)
    _check_a(a, weight, transposed)
    for name, tensor in (("a", a), ("scales", scales), ("zeros", zeros)):
        check_no_grad(name, tensor)
    dot_dtype = acc_dtype or torch.float32
    if config is not None:
        check_config(config)
        return fused(a, weight, transposed, config, dot_dtype)
    return product(a, weight, transposed, kernel_type, dot_dtype)


def _check_options(
    transposed: bool, acc_dtype: torch.dtype | None, input_precision: str, kernel_type: str
) -> None:
    check_flag("transposed", transposed)
    if acc_dtype not in (None, torch.float32, torch.float16):
        raise ValueError(f"acc_dtype must be torch.float32 or torch.float16, got {acc_dtype!r}")
    if input_precision not in _INPUT_PRECISIONS:
        known = ", ".join(_INPUT_PRECISIONS)
        raise ValueError(f"input_precision must be one of {known}, got {input_precision!r}")
    if kernel_type not in KERNEL_TYPES:
        known = ", ".join(KERNEL_TYPES)
        raise ValueError(f"kernel_type must be one of {known}, got {kernel_type!r}")


def _check_a(a: torch.Tensor, weight: Int4Weight, transposed: bool) -> None:
    columns, form = (weight.N, "(M, N)") if transposed else (weight.K, "(M, K)")
    if not isinstance(a, torch.Tensor) or a.dim() != 2 or a.shape[1] != columns:
        came = tuple(a.shape) if isinstance(a, torch.Tensor) else type(a).__name__
        raise ValueError(f"a must be {form} with {columns} columns, got {came}")
    if a.layout != torch.strided:
        raise TypeError(f"a must be a dense tensor, got {a.layout}")
    if a.dtype not in A_DTYPES:
        raise TypeError(f"a must be torch.float16 or torch.bfloat16, got {a.dtype}")
    if a.device != weight.packed.device:
        raise ValueError(f"a is on {a.device} and b on {weight.packed.device}: move one")
    if a.device.type not in ("cpu", "cuda"):
        raise ValueError(f"a is on {a.device}: kernels take CPU and CUDA tensors")
    if a.is_cuda and not kernels_take(a.device, a.dtype):
        raise ValueError("bf16 needs a GPU of compute capability 8.0 or more: use fp16")


def kernels_take(device: torch.device, dtype: torch.dtype) -> bool:
    """True if the kernels support `a` of this dtype on this CUDA device."""
    is_new = dtype == torch.bfloat16 and torch.cuda.get_device_capability(device) >= (8, 0)
    return dtype == torch.float16 or is_new


def product(
    a: torch.Tensor,
    weight: Int4Weight,
    transposed: bool,
    kernel_type: KernelType = "max_autotune",
    dot_dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """Like `triton_mixed_mm`, for an `Int4Weight` and operands that are already checked."""
    chosen = choose(Rows(len(a)), INT4_RULES).matmul_type
    if kernel_type == "dequantize" or chosen == "DEQUANTIZE":
        return dequantized(a, weight, transposed)
    config = _config_for(a, weight, transposed, dot_dtype, kernel_type)
    return fused(a, weight, transposed, config, dot_dtype)


def fused(
    a: torch.Tensor,
    weight: Int4Weight,
    transposed: bool,
    config: Config | None = None,
    dot_dtype: torch.dtype = torch.float32,
    replace: Mapping[str, Callable[..., Any]] | None = None,
    interpreted_dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """The product of a and an `Int4Weight` by the kernel `mixed_mm` or `mixed_mm_transposed`.

    config: None takes a default. replace: {name: python function}, see `runners.triton.replaced`.
    On the CPU, a replaced kernel raises KernelFault for what `run_watched` finds.
    interpreted_dtype: on the CPU, the kernel's DTYPE and what it stores.
    """
    M, N, K = len(a), weight.N, weight.K
    a, interpreted = a.contiguous().resolve_neg(), a.device.type == "cpu"
    config = config or default_config(M, N, K, weight.group_size, transposed, interpreted)
    columns = K if transposed else N
    compute_dtype = interpreted_dtype if interpreted else a.dtype
    y = torch.empty((M, columns), dtype=compute_dtype, device=a.device)
    if M == 0:
        return y.to(a.dtype)
    name = "mixed_mm_transposed" if transposed else "mixed_mm"
    function = replaced(name, interpreted, replace) if replace else kernel(name, interpreted)
    run = partial(launch, function, interpreted, watched=bool(replace))
    outputs, terms = _cut(weight, config, transposed)
    chunks = min(config["chunks"], terms)
    sums = y[None] if chunks == 1 else y.new_empty((chunks, M, columns), dtype=torch.float32)
    tensors, strides = _operands(weight)
    with torch.cuda.device_of(a):
        run(
            (outputs, -(-M // config["BLOCK_M"]), chunks), a, *tensors, sums,
            M, N, K, *strides, GROUP=weight.group_size, DTYPE=triton_dtype(compute_dtype),
            DOT_DTYPE=triton_dtype(torch.float32 if interpreted else dot_dtype),
            **{key: value for key, value in config.items() if key != "chunks"},
        )  # fmt: skip
        if chunks > 1:
            add_chunks(sums, None, Epilogue(y.dtype), y)
    return y.to(a.dtype)


def dequantized(a: torch.Tensor, weight: Int4Weight, transposed: bool) -> torch.Tensor:
    """The product by torch, with dense weights in the dtype of a that live for one call."""
    W = dense(weight, a.dtype)
    with torch.autocast(a.device.type, enabled=False):
        return a @ W if transposed else torch.nn.functional.linear(a, W)


def dense(weight: Int4Weight, dtype: torch.dtype) -> torch.Tensor:
    """The dense W (N, K) of an `Int4Weight`, computed in float32 and rounded once to `dtype`."""
    N, K = weight.N, weight.K
    interpreted = weight.packed.device.type == "cpu"
    W_dtype = torch.float32 if interpreted else dtype
    W = torch.empty((N, K), dtype=W_dtype, device=weight.packed.device)
    blocks = {"BLOCK_N": 1024 if interpreted else 32, "BLOCK_K": block_k(weight.group_size)}
    grid = _pieces(weight, blocks), -(-N // blocks["BLOCK_N"])
    tensors, strides = _operands(weight)
    with torch.cuda.device_of(W):
        launch(
            kernel("dequantize_pairs", interpreted), interpreted, grid, *tensors, W, N, K, *strides,
            GROUP=weight.group_size, **blocks,
        )  # fmt: skip
    return W.to(dtype)


def _config_for(
    a: torch.Tensor,
    weight: Int4Weight,
    transposed: bool,
    dot_dtype: torch.dtype,
    kernel_type: KernelType,
) -> Config:
    M, problem = len(a), (weight.N, weight.K, weight.group_size, transposed)
    if a.device.type != "cuda":
        return default_config(M, *problem, interpreted=True)
    M = tuning.bucket(M)

    def default() -> Config:
        return default_config(M, *problem, interpreted=False)

    def measure() -> Config:
        rows = a.new_zeros((M, a.shape[1]))
        choices = candidates(M, *problem, few_rows=kernel_type == "max_autotune")

        def run(copy: Int4Weight, config: Config) -> torch.Tensor:
            return fused(rows, copy, transposed, config, dot_dtype)

        with torch.cuda.device_of(a):
            try:
                nbytes = weight.packed.nbytes
                weights = tuning.copies_beyond_l2(weight, nbytes, _cloned, a.device)
                return tuning.fastest(choices, weights, run) or default()
            except torch.OutOfMemoryError:
                return default()

    key = _key(M, weight, transposed, a.dtype, dot_dtype, kernel_type)
    return tuning.known_or_measured(a.device, key, default, measure)


def _cloned(weight: Int4Weight) -> Int4Weight:
    packed = weight.packed.clone(memory_format=torch.preserve_format)
    return Int4Weight(packed, weight.scales, weight.zeros, weight.group_size)


def _key(
    M: int,
    weight: Int4Weight,
    transposed: bool,
    a_dtype: torch.dtype,
    dot_dtype: torch.dtype,
    kernel_type: KernelType,
) -> str:
    """The key of a measured config: kernel, shapes and dtypes, as a config file names them."""
    name = "mixed_mm_transposed" if transposed else "mixed_mm"
    shape = f"M{M} N{weight.N} K{weight.K} group {weight.group_size}"
    order = "by output" if weight.packed.stride(0) == 1 else "by k"
    types = f"{name_of(a_dtype)} x {name_of(weight.packed.dtype)} {order}"
    dot = "" if dot_dtype == torch.float32 else f" in {name_of(dot_dtype)}"
    return f"{name} {shape} {types}{dot} {kernel_type}"


def _cut(weight: Int4Weight, config: Config, transposed: bool) -> tuple[int, int]:
    """(Programs along the outputs, number of pieces of the sum that programs can divide)."""
    pieces, rows = _pieces(weight, config), -(-weight.N // config["BLOCK_N"])
    return (pieces, rows) if transposed else (rows, pieces)


def _pieces(weight: Int4Weight, config: Config) -> int:
    """The number of pieces that K is cut into."""
    return weight.K // weight.group_size * -(-weight.group_size // config["BLOCK_K"])


def _operands(
    weight: Int4Weight,
) -> tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], tuple[int, ...]]:
    """((bytes, scales, zeros) for a kernel; strides of the bytes, then of scales and zeros)."""
    scales, zeros = weight.scales.resolve_neg(), weight.zeros.resolve_neg()
    if scales.stride() != zeros.stride():
        scales, zeros = scales.contiguous(), zeros.contiguous()
    return (weight.packed, scales, zeros), (*weight.packed.stride(), *scales.stride())
