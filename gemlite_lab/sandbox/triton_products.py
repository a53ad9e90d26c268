"""The products whose Triton kernels a learner writes, or a part of such a kernel.

The checker runs them in the process of the answer. `device` is "cpu" for the interpreter, which
checks every access, "cuda", or "meta", where a launch raises PlannedLaunch. Elements of y that an
answer never stores are NaN.
"""

from dataclasses import fields, replace

import torch
from torch.overrides import TorchFunctionMode

from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import fused
from gemlite_edu.operators.triton_product import Epilogue, matmul, triton_dtype
from gemlite_edu.packing.plane_tiles import DEPTH
from gemlite_edu.runners.interpreter.loads import count_loads
from gemlite_edu.runners.triton import launch, replaced

BLOCK_M, BLOCK_N = 16, 32
_AXES_OF_SUMS = 3  # chunks, rows, columns
_MANY_ROWS, _BLOCK_OF_MANY = 64, 512  # the interpreter is slow for each program


def dequantized(unpack, words, high, layout, N, device="cpu"):
    """The codes (N, K) float32 of `words` and `high` in `layout`, by an answer to unpack_tile."""
    is_interpreted = device == "cpu"
    block = 1 if N == 1 else BLOCK_N
    if is_interpreted and N > _MANY_ROWS:
        block = _BLOCK_OF_MANY
    dense = torch.full((N, layout.padded_K), torch.nan, device=device)
    launch(
        replaced("dequantize_weights", is_interpreted, {"unpack": unpack}), is_interpreted,
        (-(-N // block) * (layout.padded_K // layout.tile),),
        words.to(device), None if high is None else high.to(device),
        None, None, None, dense, N, layout.padded_K, watched=is_interpreted,
        NBITS=layout.nbits, FIELDS=layout.fields, DEPTH=DEPTH, GROUP=None, FMA=False, BLOCK_N=block,
    )  # fmt: skip
    return dense[:, : layout.K].cpu()


def dense_product(kernel, x, W, block_n, block_k, device="cpu"):
    """y (M, N) float32 of an answer to dense_gemv on the grid (N / block_n, M).

    x (M, K) and W (N, K) may be strided. Elements that the answer never stores are NaN.
    """
    is_interpreted = device == "cpu"
    x, W = x.to(device), W.to(device)
    (M, K), N = x.shape, len(W)
    y = torch.full((M, N), torch.nan, device=device)
    launch(
        replaced("gemv", is_interpreted, {"gemv": kernel}), is_interpreted,
        (-(-N // block_n), M), x, W, y, N, K, x.stride(0), *W.stride(),
        BLOCK_N=block_n, BLOCK_K=block_k, watched=is_interpreted,
    )  # fmt: skip
    return y.cpu()


def tiled_product(answer, name, kernel, x, weight, config=None, device="cpu", atomic=False):
    """(y float32, {tensor: loads of it}, sums) of `matmul(kernel, ...)` with the answer as `name`.

    sums: (chunks, M, N), or None if atomics add them.
    """
    with count_loads({"scales": weight.scales, "zeros": weight.zeros}) as loads:
        with OutputsStartAsNaN() as made:
            given = (f.name for f in fields(weight) if f.init)
            weight = replace(weight, **{n: _moved(getattr(weight, n), device) for n in given})
            y = matmul(
                kernel, x.to(device), weight, config, Epilogue(torch.float32),
                atomic=atomic, replace={name: answer},
            )  # fmt: skip
    times = {name: counted.times for name, counted in loads.items()}
    return y.cpu(), times, made.chunk_sums()


def splitk_group_product(kernel, x, W_q, scales, zeros, group_size, block_k, chunks, device="cpu"):
    """y (M, N) float32: `splitk_group_sums` of these arguments, summed over chunks."""
    sums = splitk_group_sums(kernel, x, W_q, scales, zeros, group_size, block_k, chunks, device)
    return sums.sum(0)


def splitk_group_sums(kernel, x, W_q, scales, zeros, group_size, block_k, chunks, device="cpu"):
    """The sums (chunks, M, N) float32 of an answer on the grid (N / 32, M / 16, chunks).

    scales, zeros: (groups, N). On the CPU the interpreter checks every access. Elements that the
    answer never stores are NaN.
    """
    is_interpreted = device == "cpu"
    (M, K), N = x.shape, len(W_q)
    partial = torch.full((chunks, M, N), torch.nan, device=device)
    launch(
        replaced("gemm_splitk", is_interpreted, {"gemm_splitk": kernel}), is_interpreted,
        (-(-N // BLOCK_N), -(-M // BLOCK_M), chunks),
        *(tensor.to(device) for tensor in (x, W_q, scales, zeros)), partial, M, N, K,
        GROUP=group_size, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=block_k,
        watched=is_interpreted,
    )  # fmt: skip
    return partial.cpu()


def transposed_product(
    kernel, x, packed, scales, zeros, group_size, config, device="cpu",
    interpreted_dtype=torch.float32,
):  # fmt: skip
    """(y (M, K), sums (chunks, M, K) or None for one chunk) of an answer to mixed_mm_transposed.

    interpreted_dtype: DTYPE in the interpreter; in float32 nothing is rounded.
    """
    weight = _WithSpareRows(*(t.to(device) for t in (packed, scales, zeros)), group_size)
    with OutputsStartAsNaN() as made:
        y = fused(
            x.to(device), weight, transposed=True, config=config,
            replace={"mixed_mm_transposed": kernel}, interpreted_dtype=interpreted_dtype,
        )  # fmt: skip
    return y.cpu(), made.chunk_sums()


class _WithSpareRows(Int4Weight):
    """An `Int4Weight` whose scales and zeros may end with rows that belong to no k."""

    def __post_init__(self):
        scales, zeros = (t[: self.K // self.group_size] for t in (self.scales, self.zeros))
        Int4Weight(self.packed, scales, zeros, self.group_size)


def splitk_scales_product(
    kernel, x, packed, scales, zeros, group_size, block_k, splits, device="cpu",
    interpreted_dtype=torch.float32,
):  # fmt: skip
    """y (M, N) float32: `splitk_scales_sums` of these arguments, summed over splits."""
    operands = x, packed, scales, zeros, group_size
    sums = splitk_scales_sums(kernel, *operands, block_k, splits, device, interpreted_dtype)
    return sums.sum(0)


def splitk_scales_sums(
    kernel, x, packed, scales, zeros, group_size, block_k, splits, device="cpu",
    interpreted_dtype=torch.float32,
):  # fmt: skip
    """The sums (splits, M, N) float32 of an answer on the grid (N / 32, M / 16, splits).

    On the CPU the interpreter checks every access. Elements that the answer never stores are NaN.
    interpreted_dtype: DTYPE in the interpreter; in float32 nothing is rounded.
    """
    is_interpreted = device == "cpu"
    tensors = x, packed, scales, zeros = [t.to(device) for t in (x, packed, scales, zeros)]
    M, N = len(x), packed.shape[1]
    partial = torch.full((splits, M, N), torch.nan, device=device)
    launch(
        replaced("mixed_mm", is_interpreted, {"mixed_mm": kernel}), is_interpreted,
        (-(-N // BLOCK_N), -(-M // BLOCK_M), splits), *tensors, partial, M, N, x.shape[1],
        *packed.stride(), *scales.stride(), GROUP=group_size, SPLIT_K=splits,
        DTYPE=triton_dtype(interpreted_dtype if is_interpreted else x.dtype), BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N, BLOCK_K=block_k, watched=is_interpreted,
    )  # fmt: skip
    return partial.cpu()


class OutputsStartAsNaN(TorchFunctionMode):
    """In this context `torch.empty` returns tensors filled with NaN, or the largest integer."""

    def __init__(self):
        super().__init__()
        self._made = []

    def chunk_sums(self):
        """A copy of the sums (chunks, rows, columns) that were made in this context, or None."""
        return next((made.cpu() for made in self._made if made.dim() == _AXES_OF_SUMS), None)

    def __torch_function__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        if function.__name__ in ("empty", "new_empty", "empty_like"):
            is_float = result.dtype.is_floating_point
            result.fill_(torch.nan if is_float else torch.iinfo(result.dtype).max)
            self._made.append(result)
        return result


def _moved(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value
