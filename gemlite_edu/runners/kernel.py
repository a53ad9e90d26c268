"""`Kernel`, the one way to call every CUDA kernel."""

import dataclasses
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, Literal, cast

import torch

from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.kernels.pair_table import PairTable
from gemlite_edu.kernels.plan import Plan
from gemlite_edu.kernels.spec import Spec
from gemlite_edu.numbers.checks import check_devices, check_inspectable, check_no_tangent, check_out
from gemlite_edu.runners import nsight
from gemlite_edu.runners.gpu_or_simulator import Program
from gemlite_edu.runners.levels import CallLevels
from gemlite_edu.runners.simulator import NO_WINDOW, Operations, Report, Window

Factor = torch.Tensor | float  # a scale or a zero

_CPU = torch.device("cpu")


def _is_seen_by_torch(x: object) -> bool:
    """True in a tracer, a mode or a transform of functorch, and for a fake tensor.

    All of these can see an operator, but no kernel. Other subclasses count as fake tensors.
    """
    return isinstance(x, torch.Tensor) and (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    )


class Kernel:
    """A kernel with all its compile-time choices, made by `load`; `source` is its CUDA text.

    torch.compile and torch.export take a call as one operator, which finds the kernel by `recipe`,
    the arguments of `load`.

    >>> from gemlite_edu import load, quantize_linear
    >>> q = quantize_linear(torch.arange(-8.0, 8.0).expand(3, 16), nbits=4)
    >>> kernel = load("gemv_a16wn_fast", nbits=4)
    >>> kernel(torch.ones(1, 16).half(), *kernel.pack(q.W_q, q.scales, q.zeros))
    tensor([[-8., -8., -8.]], dtype=torch.float16)
    """

    def __init__(
        self,
        spec: Spec,
        replace: dict[str, str] | None = None,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        time_limit: float = 60.0,
    ) -> None:
        self._program = Program(spec.text, replace, time_limit)
        self.spec, self.device = spec.with_texts(self._program.replace), device
        self.recipe: str | None = None
        own = replace.levels if isinstance(replace, PairTable) else None
        self._levels = CallLevels(self._program.replace, own, self.spec.nbits)

    @property
    def name(self) -> str:
        """The kernel's name, as `load` takes it."""
        return self.spec.name

    @property
    def nbits(self) -> int | None:
        """Bits per code, if the caller chose them; otherwise None."""
        return self.spec.nbits

    @property
    def x_dtype(self) -> torch.dtype:
        """The dtype of x."""
        return cast(torch.dtype, self.spec.x_dtype)  # of a completed spec

    @property
    def y_dtype(self) -> torch.dtype:
        """The dtype of y."""
        return self.spec.y_dtype

    @property
    def group_size(self) -> int | None:
        """How many neighbours along K share a scale; None: the whole row."""
        return self.spec.group_size

    @property
    def source(self) -> str:
        """The CUDA text, with the learner's texts in its holes."""
        return self._program.source

    @property
    def replace(self) -> dict[str, str]:
        """{hole: the learner's text}."""
        return self._program.replace

    @property
    def levels(self) -> tuple[float, ...] | None:
        """The levels of the `PairTable` that the kernel was loaded with, as floats; else None."""
        return self._levels.own

    def with_changed_source(self, change: Callable[[str], str]) -> "Kernel":
        """A copy of the kernel whose CUDA text is `change(source)`."""
        kernel = copy(self)
        kernel._program, kernel.recipe = self._program.with_changed_source(change), None
        return kernel

    def __repr__(self) -> str:
        return f"Kernel({self._title()}, device={self.device!r})"

    def _title(self) -> str:
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.spec.title}{holes}"

    def layout(self, K: int) -> Any:
        """The layout of the packed words for rows of K codes."""
        return self.spec.layout(K)

    def pack(
        self, W_q: torch.Tensor, *others: torch.Tensor | float, **named: torch.Tensor | float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Pack codes W_q (N, K) uint8 for a fast kernel: returns (W, scales, zeros) for a call.

        others: scales and zeros, numbers or float32 tensors (1, 1), (N, 1) or (N, K // group_size).
        For 1:2 sparse weights, `kept` (N, K) from `tiled_sparsity_50` comes before them.
        Raises ValueError for values out of range, and for the other kernels, whose words the
        functions of `gemlite_edu.packing` make.
        """
        return self.spec.pack(W_q, *others, **named)

    def __call__(
        self,
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Factor | None = None,
        zeros: Factor | None = None,
        out: torch.Tensor | None = None,
        *,
        token_scales: Factor | None = None,
        N: int | None = None,
        levels: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`y[m, n] = sum_k scales[n, g] * (W_q[n, k] - zeros[n, g]) x[m, k]`, or `y = x Wᵀ`.

        g = k // group_size is the group of k. x: (M, K) of x_dtype. out: (M, N) of y_dtype, which
        the kernel overwrites; None: a new tensor. Returns y (M, N). The kernel's name decides which
        W, scales and zeros it takes:

        - gemv_a16w16_*: W (N, K) of x_dtype, without scales and zeros.
        - gemv_*: int32 words that `packing` makes; scales, zeros: numbers, or float32 tensors
          (1, 1), (N, 1) or (N, K // group_size). For int8 x the tensors are int32, and scales
          default to 1.
        - *_fast: W, scales and zeros that `pack` makes.
        - *_a8w2_*: words from `pack_bitnet_2bit`, without zeros; N, the number of outputs (None:
          all rows of W, a multiple of 16). scales: None for 1, a number, or a float32 tensor (N,)
          or (N, 1); token_scales: likewise with M. Sums are exact. For a 16-bit y the kernel
          converts the sum to float32, multiplies it by the product of both scales, and rounds.

        levels: float32 numbers on x's device, for a text in `prepare_pairs` that takes levels: as
        many as the `pair_table` of the kernel has, or else 2**nbits. None: those of that table. One
        kernel, compiled once, may so serve the table of each layer.

        The kernel runs on the current stream for CUDA tensors, in the simulator for CPU tensors.
        Raises TypeError or ValueError for operands that do not fit.
        """
        if torch.compiler.is_compiling() or (self.recipe and _is_seen_by_torch(x)):
            check_no_tangent("x", x)
            y = self._traced(x, W, scales, zeros, token_scales, N, levels)
            return y if out is None else out.copy_(y)
        tensors, (M, N, _), plan = self._planned(x, W, scales, zeros, token_scales, N, levels)
        if out is None:
            out = torch.empty(M, N, dtype=self.y_dtype, device=x.device)
        else:
            given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
            check_out(out, (M, N), self.y_dtype, x.device, given)
        if M:
            self._program.run(plan, tensors, out)
        return out

    def _traced(
        self,
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Factor | None,
        zeros: Factor | None,
        token_scales: Factor | None,
        N: int | None,
        levels: torch.Tensor | None,
    ) -> torch.Tensor:
        if self.recipe is None:
            raise ValueError("torch.compile takes kernels that `load` returned: call load again")
        factors = (scales, zeros, token_scales)
        tensors = [factor if isinstance(factor, torch.Tensor) else None for factor in factors]
        numbers = [
            None if factor is None or isinstance(factor, torch.Tensor) else float(factor)
            for factor in factors
        ]
        return torch.ops.gemlite_edu.kernel(x, W, *tensors, *numbers, N, self.recipe, levels)

    def inspect(
        self,
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Factor | None = None,
        zeros: Factor | None = None,
        *,
        token_scales: Factor | None = None,
        N: int | None = None,
        levels: torch.Tensor | None = None,
        window: Window = NO_WINDOW,
    ) -> Report:
        """A `Report` on the kernel's memory accesses with these operands, and on its errors.

        The simulator runs the kernel with instruments, which count requests, sectors and wavefronts
        per line, and check each access. The operands are those of a call, on the CPU, with M at
        least 1. `report.y` is the output, and `report.findings` lists what the kernel does wrong.
        window: a `Window` of one warp's steps, which `report.record` then holds.
        Raises the errors of a call for operands that do not fit.
        """
        tensors, (M, N, K), plan = self._planned(x, W, scales, zeros, token_scales, N, levels)
        check_inspectable(x)
        title = f"{self._title()}, M = {M}, N = {N}, K = {K}"
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        report = self._program.inspect(plan, tensors, y, title, self._recorded(), window)
        notes = self.spec.notes(plan.product)
        return dataclasses.replace(report, find_notes=lambda: (*report.notes, *notes))

    def count_operations(
        self,
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Factor | None = None,
        zeros: Factor | None = None,
    ) -> Operations:
        """The `Operations` of all warps of a call, loads and stores aside.

        The simulator runs the kernel, and counts what `simulator.count_operations` says.
        """
        tensors, (M, N, _), plan = self._planned(x, W, scales, zeros, None, None, None)
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        return self._program.count_operations(plan, tensors, y)

    def _recorded(self) -> str:
        if self.replace or not self.spec.counted_as:
            return ""
        return nsight.where_recorded(self.spec.counted_as, self.group_size)

    @property
    def threads_per_block(self) -> int:
        """Number of threads per block."""
        return self.plan().product.threads_per_block

    def grid(self, M: int, N: int) -> tuple[int, int]:
        """The grid (x, y), in blocks, of a launch for y (M, N)."""
        return self.plan(M, N).product.grid

    def plan(
        self, M: int = 1, N: int | None = None, K: int | None = None, device: torch.device = _CPU
    ) -> Plan:
        """The `Plan` of a call for y (M, N) on `device`; N and K default to `spec.usual_shape`."""
        usual_N, usual_K = self.spec.usual_shape
        return self.spec.plan(M, N or usual_N, K or usual_K, machine_of(device))

    def compile_for_simulator(self, M: int = 1, N: int | None = None, K: int | None = None) -> Path:
        """Compile for the simulator and these shapes, unless cached; returns the library's path."""
        return self._program.build(self.plan(M, N, K), _CPU)

    def compile_for_gpu(
        self, device: torch.device, M: int = 1, N: int | None = None, K: int | None = None
    ) -> Any:
        """Compile for `device` and these shapes, unless cached; returns the loaded library."""
        return self._program.build(self.plan(M, N, K, device), device)

    def _planned(
        self,
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Factor | None,
        zeros: Factor | None,
        token_scales: Factor | None,
        N: int | None,
        levels: torch.Tensor | None,
    ) -> tuple[dict[str, torch.Tensor | None], tuple[int, int, int], Plan]:
        """({name: tensor}, (M, N, K), the `Plan`) of a call, after checking all operands."""
        check_devices(x, W, self.device)
        M, N, K = shape = self.spec.shape(x, W, N)
        plan = self.spec.plan(max(M, 1), N, K, machine_of(x.device))
        plan.check_rows(M)
        tensors = self.spec.tensors(shape, x, W, scales, zeros, token_scales)
        return tensors | self._levels.of_call(levels, x.device), shape, plan
