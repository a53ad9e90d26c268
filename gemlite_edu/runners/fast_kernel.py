"""`FastKernel`, a GEMV at the memory limit, ready to be called."""

import dataclasses
from functools import cache

import torch

from gemlite_edu.kernels.gemv_fast import FAST_KERNELS, HOLE_BYTES, OLDEST_CAPABILITY, X_TILE, Types
from gemlite_edu.kernels.machine import MAX_GRID_Y, SIMULATED_CAPABILITY, SIMULATED_MULTIPROCESSORS
from gemlite_edu.numbers.checks import (
    aligned,
    check_devices,
    check_inspectable,
    check_matrix,
    check_no_grad,
    check_out,
    per_group,
    whole_tiles,
)
from gemlite_edu.numbers.quantize import check_codes
from gemlite_edu.packing.plane_tiles import pack_plane_tiles
from gemlite_edu.packing.sparse_1in2 import pack_sparse_1in2
from gemlite_edu.runners.kernel import LONGEST
from gemlite_edu.runners.kernel_text import KernelText, capability_of

_USUAL_SIZE = 4096
_MOST_LOST = 0.01  # of a scale below the normal numbers of float16


class FastKernel:
    """A GEMV on `PlaneTiles` with all that is compile-time decided. Made by `load`.

    >>> from gemlite_edu import load, quantize_linear
    >>> q = quantize_linear(torch.arange(-8.0, 8.0).expand(3, 16), nbits=4)
    >>> kernel = load("gemv_a16wn_fast", nbits=4)
    >>> kernel(torch.ones(1, 16).half(), *kernel.pack(q.W_q, q.scales, q.zeros))
    tensor([[-8., -8., -8.]], dtype=torch.float16)
    """

    kinds = FAST_KERNELS

    def __init__(self, name, nbits, x_dtype, replace, device, time_limit, group_size):
        self._kind = self.kinds[name]
        self.name, self.nbits, self.group_size, self.device = name, nbits, group_size, device
        self.x_dtype = self.y_dtype = x_dtype
        self._weights = self._kind.weights(nbits, group_size)
        self._text = self._make_text(replace, time_limit)
        self.source, self.replace = self._text.source, self._text.replace
        if "prepare_pairs" in self.replace:
            self._weights = dataclasses.replace(self._weights, hole_bytes=HOLE_BYTES)

    def _make_text(self, replace, time_limit):
        return KernelText(self._weights.text, self._kind.entry, replace, time_limit)

    def __repr__(self):
        return f"{type(self).__name__}({self._title()}, device={self.device!r})"

    def _title(self):
        width = "" if self.nbits is None else f", nbits={self.nbits}"
        groups = "" if self.group_size is None else f", group_size={self.group_size}"
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.name}{width}, x_dtype={self.x_dtype}{groups}{holes}"

    def layout(self, K):
        """The layout of the words that `pack` makes of codes (N, K)."""
        return self._weights.layout(K)

    def pack(self, W_q, scales, zeros):
        """(W_packed, scales, zeros), what a call takes, of codes (N, K) uint8.

        scales, zeros: numbers, or float32 tensors (1, 1), (N, 1) or (N, K // group_size). They
        become float16 (groups, N); ValueError beyond its range, and for scales that get lost in it.
        """
        check_codes(W_q, self.nbits)
        words = pack_plane_tiles(W_q, self.layout(W_q.shape[1]))
        return words, *self._scales_and_zeros(W_q, scales, zeros)

    def _scales_and_zeros(self, W_q, scales, zeros):
        (N, K), layout = W_q.shape, self.layout(W_q.shape[1])
        shape, given = (N, K // (self.group_size or K)), {"scales": scales, "zeros": zeros}
        halves = (_as_halves(name, value, shape, W_q.device) for name, value in given.items())
        return tuple(layout.pad_groups(values.T) for values in halves)

    def __call__(self, x, W_packed, scales, zeros, out=None):
        """`y[m, n] = sum_k scales[g, n] * (W_q[n, k] - zeros[g, n]) x[m, k]`, g = k // group_size.

        x: (M, K) of x_dtype, 8 rows of it in one pass over the weights. W_packed, scales, zeros: of
        `pack`. out: (M, N) of x_dtype to write into. Returns y (M, N).

        On CUDA tensors it runs on their device's current stream, on CPU tensors in the simulator.
        x of a K that is no multiple of 8 is copied, with zeros behind it.
        Raises TypeError or ValueError for operands that do not fit.
        """
        tensors, (M, N, _), plan = self._operands(x, W_packed, scales, zeros)
        if out is None:
            out = torch.empty(M, N, dtype=self.y_dtype, device=x.device)
        else:
            given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
            check_out(out, (M, N), self.y_dtype, x.device, given)
        if M:
            self._text.run(plan, tensors, out)
        return out

    def inspect(self, x, W_packed, scales, zeros):
        """A `Report` of what the kernel does to memory with these operands, and of what is wrong.

        Operands as for a call, on the CPU; M at least 1. `report.y` is the output. What the kernel
        does wrong is in `report.findings`.
        """
        tensors, (M, N, K), plan = self._operands(x, W_packed, scales, zeros)
        check_inspectable(x)
        title = f"{self._title()}, M = {M}, N = {N}, K = {K}"
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        return self._text.inspect(plan, tensors, y, title, recorded="")

    def compile_for_simulator(self, M=1, N=_USUAL_SIZE, K=_USUAL_SIZE):
        """Path of the simulator's library for such shapes, compiled if it is not in the cache."""
        return self._text.build_for_simulator(self._plan(M, N, K, torch.device("cpu")))

    def compile_for_gpu(self, device, M=1, N=_USUAL_SIZE, K=_USUAL_SIZE):
        """The loaded library for such shapes on `device`, compiled if it is not in the cache."""
        return self._text.build_for_gpu(self._plan(M, N, K, device), device)

    def _plan(self, M, N, K, device):
        where = machine_of(device)
        if where[0] < OLDEST_CAPABILITY:
            raise ValueError(
                f"{self.name} needs the tensor cores of compute capability 7.5 or more, and "
                f"{device} has {where[0][0]}.{where[0][1]}: use {self._kind.on_older_gpus}"
            )
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return self._kind.plan(M, N, K, types, self._weights, *where)

    def _operands(self, x, W_packed, scales, zeros):
        """({name: tensor} for the kernel, (M, N, K), its `Launch`) once all fit each other."""
        check_matrix("x", x, self.x_dtype)
        (M, K), layout = x.shape, self.layout(x.shape[1])
        N = _checked_words(W_packed, layout)
        check_devices(x, W_packed, self.device)
        if max(M, N, K) > LONGEST:
            raise ValueError(f"M, N and K may be up to {LONGEST}, got {M}, {N} and {K}")
        for name, tensor in {"scales": scales, "zeros": zeros}.items():
            _check_of_groups(name, tensor, (layout.padded_groups, N), x)
        x = whole_tiles(x, X_TILE)
        plan = self._plan(max(M, 1), N, x.shape[1], x.device)
        if plan.grid[1] > MAX_GRID_Y:
            raise ValueError(f"x has M = {M} rows, too many for a launch: split x by rows")
        tensors = {
            "x": aligned(x),
            "W_packed": aligned(W_packed),
            "scales": aligned(scales),
            "zeros": aligned(zeros),
            "channel_scales": None,
            "token_scales": None,
            "bias": None,
        }
        return tensors, (M, N, K), plan


class SparseFastKernel(FastKernel):
    """Like `FastKernel`, for 1:2 sparse weights of 7 bits, in the words of `pack_sparse_1in2`.

    The weight of a pair that is not kept counts 0, whatever the zero; it meets an infinite x as 0
    times infinity, which is no number.

    >>> from gemlite_edu import load
    >>> W_q, kept = torch.tensor([[0] * 32 + [9] * 32]), torch.tensor([[0] * 32 + [1] * 32])
    >>> kernel = load("gemv_a16w7_sparse_fast")
    >>> kernel(torch.ones(1, 64).half(), *kernel.pack(W_q.byte(), kept, 0.5, 4))
    tensor([[80.]], dtype=torch.float16)
    """

    def pack(self, W_q, kept, scales, zeros):
        """(W_packed, scales, zeros), what a call takes, of codes (N, K) uint8 below 128.

        kept: (N, K), nonzero at the one of each pair that counts, as `tiled_sparsity_50` gives it.
        scales, zeros: as of `FastKernel.pack`.
        """
        return pack_sparse_1in2(W_q, kept), *self._scales_and_zeros(W_q, scales, zeros)


@cache
def machine_of(device):
    """(compute capability, multiprocessors) of the machine that kernels on `device` run on."""
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"kernels take CPU and CUDA tensors, got tensors on {device}")
    if device.type == "cpu":
        return SIMULATED_CAPABILITY, SIMULATED_MULTIPROCESSORS
    count = torch.cuda.get_device_properties(device).multi_processor_count
    return capability_of(device), count


def _checked_words(W_packed, layout):
    """N, once the words are such as `layout` has."""
    if not isinstance(W_packed, torch.Tensor):
        raise TypeError(f"W must be a torch.Tensor, got {type(W_packed).__name__}")
    named = layout.shape("N")
    N = W_packed.shape[named.index("N")] if W_packed.dim() == len(named) else 0
    if not N or tuple(W_packed.shape) != layout.shape(N) or W_packed.dtype != layout.word_dtype:
        raise ValueError(
            f"x has K = {layout.K}, for which W must be ({', '.join(map(str, named))}) "
            f"{layout.word_dtype} as pack makes it, got {tuple(W_packed.shape)} {W_packed.dtype}"
        )
    check_no_grad("W", W_packed)
    return N


def _check_of_groups(name, tensor, shape, x):
    if isinstance(tensor, torch.Tensor) and tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must be {shape} as pack makes it, got {tuple(tensor.shape)}")
    check_matrix(name, tensor, torch.float16)
    if tensor.device != x.device:
        raise ValueError(f"{name} is on {tensor.device} and x on {x.device}: move one to the other")


def _as_halves(name, value, shape, device):
    """Scales or zeros (N, groups) as float16 tensors of that shape."""
    if value is None:
        raise TypeError(f"{name} must be given: a number, or a float32 tensor {shape}")
    values = per_group(name, value, shape, torch.float32, device)
    halves = values.half()
    if (halves.isinf() & values.isfinite()).any():
        raise ValueError(f"{name} must fit in float16, up to 65504: scale x instead")
    if name == "scales" and ((halves - values).abs() > _MOST_LOST * values.abs()).any():
        raise ValueError(
            "scales must fit in float16, from 2**-14 on: multiply them by a power of two, and "
            "divide y by it"
        )
    return halves
