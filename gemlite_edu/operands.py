"""Floor 2: what a kernel may be given; one sentence about anything else."""

import numbers

import torch


def check_matrix(name, tensor, dtype):
    """Raise unless `tensor` is a dense 2-D tensor of `dtype` on a CPU or CUDA device."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if tensor.dtype != dtype:
        raise TypeError(f"{name} must be {dtype}, got {tensor.dtype}")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor, got {tensor.layout}")
    if tensor.dim() != 2 or tensor.shape[1] == 0 or (name == "W" and tensor.shape[0] == 0):
        form = "(M, K), K >= 1" if name == "x" else "(N, columns), both >= 1"
        raise ValueError(f"{name} must have shape {form}, got {tuple(tensor.shape)}")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name} is on {tensor.device}: kernels take CPU and CUDA tensors")
    check_no_grad(name, tensor)


def check_no_grad(name, tensor):
    """Raise if autograd would have to go through a kernel."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        raise ValueError(
            f"{name} requires grad and this kernel has no backward: use torch.no_grad()"
        )


def per_channel(name, value, N, device):
    """`value`, a number or a float32 tensor of 1 or N elements, as N float32 on `device`."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return torch.full((N,), float(value), device=device)
    if not isinstance(value, torch.Tensor):
        came = type(value).__name__
        raise TypeError(f"{name} must be a number or a float32 tensor (N, 1), got {came}")
    check_no_grad(name, value)
    if value.dtype != torch.float32:
        raise TypeError(f"{name} must be float32, got {value.dtype}: use {name}.float()")
    if value.device != device:
        raise ValueError(f"{name} is on {value.device} and x on {device}: move one to the other")
    if value.numel() == 1:
        return value.reshape(1).expand(N).contiguous()
    if tuple(value.shape) not in ((N, 1), (N,)):
        raise ValueError(
            f"{name} must be one number or ({N}, 1), one per output, got {tuple(value.shape)}"
        )
    return value.reshape(N).contiguous()


def shares_memory(a, b):
    """Whether two contiguous tensors have a byte in common."""
    return a.data_ptr() < b.data_ptr() + b.nbytes and b.data_ptr() < a.data_ptr() + a.nbytes
