"""Checks of what a kernel may be given; each refusal is one sentence."""

import math
import numbers
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch.autograd import forward_ad

from gemlite_edu.numbers.dtypes import name_of

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_INT32_END = 2**31
_LARGEST_INT8 = 128
_ALIGNMENT = 16  # bytes that a lane reads at once


def check_matrix(name: str, tensor: torch.Tensor, dtype: torch.dtype) -> None:
    """Raise unless `tensor` is a dense 2-D tensor of `dtype` on a CPU or CUDA device."""
    check_dense(name, tensor, [dtype])
    if tensor.dim() != 2 or tensor.shape[1] == 0 or (name == "W" and tensor.shape[0] == 0):
        form = "(M, K), K >= 1" if name == "x" else "(N, columns), both >= 1"
        raise ValueError(f"{name} must have shape {form}, got {tuple(tensor.shape)}")
    check_kernels_reach(name, tensor)
    check_no_grad(name, tensor)


def check_kernels_reach(name: str, tensor: torch.Tensor) -> None:
    """Raise unless the tensor is on a device that runs kernels: a CPU or a CUDA device."""
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name} is on {tensor.device}: kernels take CPU and CUDA tensors")


def check_dense(name: str, value: object, dtypes: Collection[torch.dtype] | None = None) -> None:
    """Raise unless `value` is a dense tensor with one of `dtypes` (None: any)."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if dtypes and value.dtype not in dtypes:
        takes = " or ".join(", ".join(map(str, dtypes)).rsplit(", ", 1))
        raise TypeError(f"{name} must be {takes}, got {value.dtype}")
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor, got {value.layout}")


def check_together(name: str, device: torch.device, other: str, other_device: torch.device) -> None:
    """Raise unless the tensors called `name` and `other` are on the same device."""
    if device != other_device:
        raise ValueError(f"{name} is on {device} and {other} on {other_device}: move one")


def check_bias(bias: torch.Tensor, N: int, dtypes: Collection[torch.dtype] = FLOATS) -> None:
    """Raise unless the bias is a dense tensor (N,) with one of `dtypes`."""
    check_dense("bias", bias, dtypes)
    if tuple(bias.shape) != (N,):
        raise ValueError(f"bias must have shape ({N},), got {tuple(bias.shape)}")


def is_int(value: object, smallest: int = 1) -> bool:
    """True if `value` is an int, not a bool, of at least `smallest`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= smallest


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")


def check_size(name: str, size: object) -> None:
    """Raise unless `size` is an int of at least 1."""
    if not is_int(size):
        raise ValueError(f"{name} must be an int of at least 1, got {size!r}")


def check_group_size(group_size: object, K: int) -> None:
    """Raise unless `group_size` divides K."""
    if not isinstance(group_size, int) or isinstance(group_size, bool):
        raise TypeError(f"group_size must be an int, got {type(group_size).__name__}")
    if group_size < 1 or K % group_size:
        raise ValueError(
            f"group_size = {group_size} does not divide K = {K}: choose a divisor of K, or pad K"
        )


def check_devices(x: torch.Tensor, W: torch.Tensor, runner: str) -> None:
    """Raise unless x and W are on the same device, and the kernel was loaded for that device."""
    for name, tensor in {"x": x, "W": W}.items():
        check_dense(name, tensor)
        check_kernels_reach(name, tensor)
    check_together("x", x.device, "W", W.device)
    if runner != "auto" and x.device.type != runner:
        raise ValueError(
            f"this kernel was loaded for {runner!r} and x is on {x.device}: "
            f"move the tensors, or load(..., device='auto')"
        )


def check_inspectable(x: torch.Tensor) -> None:
    """Raise unless the simulator can inspect a launch with `x`."""
    if x.device.type != "cpu":
        raise ValueError(f"x is on {x.device}, and the simulator inspects on the CPU: use .cpu()")
    if x.shape[0] == 0:
        raise ValueError("x has no rows: there is nothing to inspect")


def check_no_grad(name: str, tensor: torch.Tensor) -> None:
    """Raise if autograd would need a gradient through a kernel, backward or forward."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        raise ValueError(
            f"{name} requires grad and this kernel has no backward: use torch.no_grad()"
        )
    check_no_tangent(name, tensor)


def check_no_tangent(name: str, tensor: torch.Tensor) -> None:
    """Raise for a dual tensor of forward-mode autograd: torch would take its derivative for 0."""
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
        raise ValueError(
            f"{name} has a tangent and this kernel has no forward-mode derivative: use a dense "
            "layer for torch.func.jvp, jacfwd and linearize"
        )


def per_group(
    name: str, value: object, shape: tuple[int, int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Expand `value` to a contiguous tensor of `shape` = (N, groups) and `dtype` on `device`.

    value: a number, or a tensor of `dtype` with one element or the shape (N, 1), (N, groups), or
    for one group (N,). dtype: float32, or int32, which allows only whole numbers.
    """
    N, groups = shape
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return torch.full(shape, _number(name, value, dtype), dtype=dtype, device=device)
    form = f"({N}, 1)" if groups == 1 else f"({N}, 1) or ({N}, {groups})"
    if not isinstance(value, torch.Tensor):
        came = type(value).__name__
        raise TypeError(f"{name} must be a number or a {name_of(dtype)} tensor {form}, got {came}")
    check_no_grad(name, value)
    if value.dtype != dtype or value.layout != torch.strided:
        cast = "float" if dtype == torch.float32 else "int"
        came = value.dtype if value.layout == torch.strided else value.layout
        raise TypeError(f"{name} must be {name_of(dtype)}, got {came}: use {name}.{cast}()")
    check_together(name, value.device, "x", device)
    if value.numel() == 1:
        value = value.reshape(1, 1)
    elif groups == 1 and value.shape == (N,):
        value = value.reshape(N, 1)
    if not _is_for(value.shape, N, groups):
        raise ValueError(
            f"{name} must be one number or {form}, got {tuple(value.shape)}"
            + (": a row for each output, a column for each group of group_size" * (groups > 1))
        )
    return value.resolve_neg().expand(shape).contiguous()


def _is_for(shape: torch.Size, N: int, groups: int) -> bool:
    """True for (1, 1), (N, 1) and (N, groups).

    `shape in (...)` would be False while torch.compile keeps a size symbolic.
    """
    if len(shape) != 2:
        return False
    rows, columns = shape
    return rows == columns == 1 or (rows == N and (columns == 1 or columns == groups))


def _number(name: str, value: Any, dtype: torch.dtype) -> float:
    """`value` as a float or an int that fits into `dtype`."""
    if dtype == torch.float32:
        if math.isfinite(value) and abs(value) > torch.finfo(dtype).max:
            raise ValueError(f"{name} must fit in float32, got {value}")
        return float(value)
    if not math.isfinite(value) or value != int(value) or not -_INT32_END <= value < _INT32_END:
        raise ValueError(f"{name} must be a whole number of int32 for int8 x, got {value}")
    return int(value)


def check_int32_range(
    K: int, nbits: int, scales: torch.Tensor | float, zeros: torch.Tensor | float
) -> None:
    """Raise if a sum over K of scale * (code - zero) * x, with int8 x, may overflow int32.

    scales, zeros: numbers, or tensors. Tensors on a GPU are not read, because that would wait for
    the GPU; the check assumes a scale of 1 and a zero among the codes.
    """
    top = 2**nbits - 1
    smallest, largest = _range(zeros, otherwise=(0, top))
    factor = max(map(abs, _range(scales, otherwise=(1, 1))))
    largest_product = _LARGEST_INT8 * max(top - smallest, largest) * factor
    if K * largest_product >= _INT32_END:
        longest = (_INT32_END - 1) // largest_product
        raise ValueError(
            f"sums over K = {K} of {nbits}-bit codes may leave int32: "
            + (f"split K, up to {longest} in a call" if longest else "a zero or scale is too large")
        )


def _range(value: torch.Tensor | float, otherwise: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(value, torch.Tensor):
        return int(value), int(value)
    if value.device.type != "cpu":
        return otherwise
    return int(value.min()), int(value.max())


def check_out(
    out: torch.Tensor,
    shape: tuple[int, int],
    dtype: torch.dtype,
    device: torch.device,
    tensors: Mapping[str, torch.Tensor],
) -> None:
    """Raise unless `out` fits, is contiguous, and shares no memory with `tensors`."""
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"out must be a torch.Tensor, got {type(out).__name__}")
    if out.dtype != dtype or tuple(out.shape) != shape or out.device != device:
        raise ValueError(
            f"out must be {shape} {dtype} on {device}, "
            f"got {tuple(out.shape)} {out.dtype} on {out.device}"
        )
    check_no_grad("out", out)
    if not out.is_contiguous():
        raise ValueError(f"out must be contiguous, its strides are {out.stride()}")
    for name, tensor in tensors.items():
        if _shares_memory(out, tensor):
            raise ValueError(f"out shares its memory with {name}: pass a fresh tensor")


def _shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if two contiguous tensors share a byte of memory."""
    return a.data_ptr() < b.data_ptr() + b.nbytes and b.data_ptr() < a.data_ptr() + a.nbytes


def whole_tiles(x: torch.Tensor, tile: int) -> torch.Tensor:
    """x (..., K), padded with zeros to a multiple of `tile`; copied only if padding is needed."""
    missing = -x.shape[-1] % tile
    return torch.nn.functional.pad(x, (0, missing)) if missing else x


def laid_out(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, made contiguous, with a pending negation of torch resolved."""
    if tensor.is_neg() or not tensor.is_contiguous():  # asking is faster than calling
        return tensor.resolve_neg().contiguous()
    return tensor


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, `laid_out`, and copied if its address is not a multiple of 16 bytes."""
    tensor = laid_out(tensor)
    return tensor.clone() if tensor.data_ptr() % _ALIGNMENT else tensor


def pointers_of(tensors: Iterable[torch.Tensor | None]) -> list[int]:
    """The address of each tensor; 0 for None."""
    return [0 if tensor is None else tensor.data_ptr() for tensor in tensors]


def aligned_pointers_of(tensors: Iterable[torch.Tensor | None]) -> list[int] | None:
    """The address of each tensor, like `pointers_of`; None if one is not `aligned`."""
    pointers = []
    for tensor in tensors:
        pointer = 0 if tensor is None else tensor.data_ptr()
        pointers.append(pointer)
        if tensor is None or not pointer:
            continue
        if pointer % _ALIGNMENT or not tensor.is_contiguous() or tensor.is_neg():
            return None
    return pointers
