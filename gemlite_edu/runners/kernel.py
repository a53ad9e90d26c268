"""`Kernel`, a CUDA GEMV with all that is compile-time decided; a call checks the data."""

import dataclasses

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv import KERNELS, codes_per_group
from gemlite_edu.kernels.machine import MAX_GRID_Y, SIMULATED_CAPABILITY
from gemlite_edu.numbers.checks import (
    check_devices,
    check_inspectable,
    check_int32_range,
    check_matrix,
    check_out,
    per_group,
)
from gemlite_edu.numbers.errors import KernelTextError
from gemlite_edu.runners import nsight
from gemlite_edu.runners.kernel_text import KernelText, capability_of

LONGEST = 2**31 - 2**16  # M, N and K are ints in a kernel, also rounded up to whole tiles
_ENTRY = "gemv"  # the __global__ function of every text
_SHARED_BY_ROWS = (
    "scales and zeros are loaded for each row of x: a GPU's compiler loads them once for the rows "
    "of a pass"
)


class Kernel:
    """A kernel with all that is compile-time decided. Made by `load`; `source` is its CUDA text."""

    def __init__(self, name, nbits, x_dtype, replace, device, time_limit, group_size):
        self.name, self.nbits, self.x_dtype, self.group_size = name, nbits, x_dtype, group_size
        self.y_dtype = torch.int32 if x_dtype == torch.int8 else x_dtype
        self._text = KernelText(name, _ENTRY, replace, time_limit)
        self.source, self.replace, self.device = self._text.source, self._text.replace, device
        self._kind = KERNELS[name]
        self._layout = self._kind.layout(nbits) if self._kind.is_packed else None
        self._check_groups_of_the_text()

    def _check_groups_of_the_text(self):
        """A dequant_dot for whole words would read the codes of several groups as one's."""
        if self.group_size is None:
            if "scaled_dot" in self.replace:
                raise ValueError("scaled_dot is for scales in groups: load with a group_size")
            return
        text = sources.without_comments(self.replace.get("dequant_dot", "CODES_PER_GROUP"))
        if "CODES_PER_GROUP" in text or "scaled_dot" in self.replace:
            return
        codes = codes_per_group(self._layout, self.group_size)
        if codes < codes_per_group(self._layout, None):
            raise KernelTextError(
                f"with group_size = {self.group_size} dequant_dot is called with {codes} codes at "
                "a time, which share a group: let its loop end at CODES_PER_GROUP"
            )

    def __repr__(self):
        return f"Kernel({self._title()}, device={self.device!r})"

    def _title(self):
        width = "" if self.nbits is None else f", nbits={self.nbits}"
        groups = "" if self.group_size is None else f", group_size={self.group_size}"
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.name}{width}, x_dtype={self.x_dtype}{groups}{holes}"

    def __call__(self, x, W, scales=None, zeros=None, out=None):
        """`y[m, n] = sum_k scales[n, g] * (W_q[n, k] - zeros[n, g]) x[m, k]`, or `y = x Wᵀ`.

        g = k // group_size is the group of k. x: (M, K) x_dtype. W: packed words int32 as `packing`
        makes them, or (N, K) x_dtype for plain kernels. scales, zeros: numbers, or float32 tensors
        (1, 1), (N, 1) or (N, K // group_size); for int8 x int32 ones, and scales left out are 1.
        out: (M, N) to write into, of x_dtype or int32; a new tensor otherwise. Returns y (M, N).
        On CUDA tensors it runs on their device's current stream, on CPU tensors in the simulator.
        """
        tensors, (M, N, K) = self._operands(x, W, scales, zeros)
        if out is None:
            out = torch.empty(M, N, dtype=self.y_dtype, device=x.device)
        else:
            check_out(out, (M, N), self.y_dtype, x.device, tensors)
        if M == 0:
            return out
        self._text.run(self._plan(M, N, K, capability_of(x.device)), tensors, out)
        return out

    def inspect(self, x, W, scales=None, zeros=None):
        """A `Report` of what the kernel does to memory with these operands, and of what is wrong.

        It runs in the simulator under instruments: requests, sectors, wavefronts per line, and each
        access checked. Operands as for a call, on the CPU; M at least 1. `report.y` is the output.
        Raises what a call raises for wrong operands; what the kernel does wrong is in
        `report.findings`.
        """
        tensors, (M, N, K) = self._operands(x, W, scales, zeros)
        check_inspectable(x)
        plan = self._plan(M, N, K)
        title = f"{self._title()}, M = {M}, N = {N}, K = {K}"
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        report = self._text.inspect(plan, tensors, y, title, self._recorded())
        if self.group_size is None or plan.defines["ROWS"] == 1:
            return report
        return dataclasses.replace(report, find_notes=lambda: (*report.notes, _SHARED_BY_ROWS))

    def _recorded(self):
        if self.replace:
            return ""
        width = "" if self.nbits is None else f", {self.nbits} bits"
        name = f"{self.name}{width}, {str(self.x_dtype)[6:]}"
        return nsight.where_recorded(name, self.group_size)

    @property
    def threads_per_block(self):
        """Threads in each block of a launch."""
        return self._kind.threads

    def grid(self, M, N):
        """Blocks (x, y) of a launch for y of shape (M, N)."""
        return self._plan(M, N).grid

    def compile_for_simulator(self, M=1):
        """Path of the simulator's library for x of M rows, compiled if it is not in the cache."""
        return self._text.build_for_simulator(self._plan(M))

    def compile_for_gpu(self, device, M=1):
        """The loaded library for x of M rows on `device`, compiled if it is not in the cache."""
        return self._text.build_for_gpu(self._plan(M, capability=capability_of(device)), device)

    def _plan(self, M, N=1, K=None, capability=SIMULATED_CAPABILITY):
        K = K or self.group_size or 1
        return self._kind.plan(
            M, N, K, self.x_dtype, capability, nbits=self.nbits, group_size=self.group_size
        )

    def _operands(self, x, W, scales, zeros):
        """({name: tensor} for the kernel, (M, N, K)) once all fit each other and this kernel."""
        N, K = self._check_operands(x, W)
        tensors = {"x": x.contiguous(), "W": W.contiguous()}
        if self._layout is not None:
            tensors |= self._scales_and_zeros(scales, zeros, N, K, x.device)
        elif scales is not None or zeros is not None:
            raise ValueError(f"{self.name} takes unquantized weights: leave scales and zeros out")
        return tensors, (x.shape[0], N, K)

    def _scales_and_zeros(self, scales, zeros, N, K, device):
        group_size = self.group_size or K
        if K % group_size:
            raise ValueError(
                f"x has K = {K}, which is not whole groups of {group_size}: "
                f"load with another group_size, or pad K"
            )
        shape, is_integer = (N, K // group_size), self.x_dtype == torch.int8
        dtype = torch.int32 if is_integer else torch.float32
        scales = 1 if is_integer and scales is None else scales
        given, found = {"scales": scales, "zeros": zeros}, {}
        for name, value in given.items():
            if value is None:
                raise TypeError(
                    f"{self.name} needs {name}: a number, or {str(dtype)[6:]} {shape} or ({N}, 1)"
                )
            found[name] = per_group(name, value, shape, dtype, device)
        if is_integer:
            check_int32_range(K, self.nbits, **given)
        return found

    def _check_operands(self, x, W):
        """(N, K), once x and W are known to fit each other and this kernel."""
        check_matrix("x", x, self.x_dtype)
        check_matrix("W", W, self.x_dtype if self._layout is None else torch.int32)
        check_devices(x, W, self.device)
        (M, K), (N, columns) = x.shape, W.shape
        expected = K if self._layout is None else self._layout.packed_shape(N, K)[1]
        if columns != expected:
            what = "weights" if self._layout is None else f"{self._layout.nbits}-bit words"
            raise ValueError(
                f"x has K = {K}, for which W must have {expected} columns of {what}, got {columns}"
            )
        if max(M, N, K) > LONGEST:
            raise ValueError(f"M, N and K may be up to {LONGEST}, got {M}, {N} and {K}")
        passes = self.grid(M, N)[1]
        if passes > MAX_GRID_Y:
            most = MAX_GRID_Y * -(-M // passes)
            raise ValueError(f"x has M = {M} rows, a launch takes {most}: split x by rows")
        return N, K
