"""`Kernel`: one way to call every CUDA kernel."""

import dataclasses

import torch

from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.numbers.checks import check_devices, check_inspectable, check_out
from gemlite_edu.runners import nsight
from gemlite_edu.runners.program import Program

_CPU = torch.device("cpu")


class Kernel:
    """A kernel with all that is compile-time decided. Made by `load`; `source` is its CUDA text.

    >>> from gemlite_edu import load, quantize_linear
    >>> q = quantize_linear(torch.arange(-8.0, 8.0).expand(3, 16), nbits=4)
    >>> kernel = load("gemv_a16wn_fast", nbits=4)
    >>> kernel(torch.ones(1, 16).half(), *kernel.pack(q.W_q, q.scales, q.zeros))
    tensor([[-8., -8., -8.]], dtype=torch.float16)
    """

    def __init__(self, spec, replace=None, device="auto", time_limit=60.0):
        self._program = Program(spec.text, replace, time_limit)
        self.spec, self.device = spec.with_texts(self._program.replace), device

    @property
    def name(self):
        """The name that `load` knows it by."""
        return self.spec.name

    @property
    def nbits(self):
        """Bits of a code, where the caller chose them."""
        return self.spec.nbits

    @property
    def x_dtype(self):
        """Type of x."""
        return self.spec.x_dtype

    @property
    def y_dtype(self):
        """Type of y."""
        return self.spec.y_dtype

    @property
    def group_size(self):
        """Neighbours along K that share a scale; None: all of a row."""
        return self.spec.group_size

    @property
    def source(self):
        """The CUDA text, with the learner's texts in its holes."""
        return self._program.source

    @property
    def replace(self):
        """{hole: the learner's text}."""
        return self._program.replace

    def __repr__(self):
        return f"Kernel({self._title()}, device={self.device!r})"

    def _title(self):
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.spec.title}{holes}"

    def layout(self, K):
        """The layout of the words that the kernel reads of K codes in a row."""
        return self.spec.layout(K)

    def pack(self, W_q, *others, **named):
        """(W, scales, zeros), what a call of a fast kernel takes, of codes W_q (N, K) uint8.

        others: scales and zeros, numbers or float32 tensors (1, 1), (N, 1) or
        (N, K // group_size); before them, of 1:2 sparse weights, `kept` (N, K) from
        `tiled_sparsity_50`. ValueError for numbers that do not fit, or a kernel whose words the
        functions of `gemlite_edu.packing` make.
        """
        return self.spec.pack(W_q, *others, **named)

    def __call__(self, x, W, scales=None, zeros=None, out=None, *, token_scales=None, N=None):
        """`y[m, n] = sum_k scales[n, g] * (W_q[n, k] - zeros[n, g]) x[m, k]`, or `y = x Wᵀ`.

        g = k // group_size is the group of k. x: (M, K) of x_dtype. out: (M, N) of y_dtype to write
        into; a new tensor otherwise. Returns y (M, N). W, scales and zeros, by the kernel's name:

        - gemv_a16w16_*: W (N, K) of x_dtype, and neither scales nor zeros.
        - gemv_*: words int32 as `packing` makes them; scales, zeros: numbers, or float32 tensors
          (1, 1), (N, 1) or (N, K // group_size); for int8 x int32 ones, and scales left out are 1.
        - *_fast: all three as `pack` makes them.
        - *_a8w2_*: words of `pack_bitnet_2bit` and no zeros; token_scales; N, the number of
          outputs (None: all rows of W, a multiple of 16). scales and token_scales: 1, a number, or
          float32 tensors (N,) or (N, 1), (M,) or (M, 1). Sums are exact; y of 16 bits is the sum as
          float32, times the product of its two factors, rounded.

        On CUDA tensors it runs on their device's current stream, on CPU tensors in the simulator.
        Raises TypeError or ValueError for operands that do not fit.
        """
        tensors, (M, N, _), plan = self._planned(x, W, scales, zeros, token_scales, N)
        if out is None:
            out = torch.empty(M, N, dtype=self.y_dtype, device=x.device)
        else:
            given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
            check_out(out, (M, N), self.y_dtype, x.device, given)
        if M:
            self._program.run(plan, tensors, out)
        return out

    def inspect(self, x, W, scales=None, zeros=None, *, token_scales=None, N=None):
        """A `Report` of what the kernel does to memory with these operands, and of what is wrong.

        It runs in the simulator under instruments: requests, sectors, wavefronts per line, and each
        access checked. Operands as for a call, on the CPU; M at least 1. `report.y` is the output.
        Raises what a call raises for wrong operands; what the kernel does wrong is in
        `report.findings`.
        """
        tensors, (M, N, K), plan = self._planned(x, W, scales, zeros, token_scales, N)
        check_inspectable(x)
        title = f"{self._title()}, M = {M}, N = {N}, K = {K}"
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        report = self._program.inspect(plan, tensors, y, title, self._recorded())
        notes = self.spec.notes(plan.product)
        return dataclasses.replace(report, find_notes=lambda: (*report.notes, *notes))

    def _recorded(self):
        if self.replace or not self.spec.counted_as:
            return ""
        return nsight.where_recorded(self.spec.counted_as, self.group_size)

    @property
    def threads_per_block(self):
        """Threads in each block of a launch."""
        return self.plan().product.threads

    def grid(self, M, N):
        """Blocks (x, y) of a launch for y of shape (M, N)."""
        return self.plan(M, N).product.grid

    def plan(self, M=1, N=None, K=None, device=_CPU):
        """The `Plan` of a call for y (M, N) on `device`; sizes left out are the kernel's usual."""
        usual_N, usual_K = self.spec.usual_shape
        return self.spec.plan(M, N or usual_N, K or usual_K, machine_of(device))

    def compile_for_simulator(self, M=1, N=None, K=None):
        """Path of the simulator's library for such shapes, compiled if it is not in the cache."""
        return self._program.build(self.plan(M, N, K), _CPU)

    def compile_for_gpu(self, device, M=1, N=None, K=None):
        """The loaded library for such shapes on `device`, compiled if it is not in the cache."""
        return self._program.build(self.plan(M, N, K, device), device)

    def _planned(self, x, W, scales, zeros, token_scales, N):
        """({name: tensor}, (M, N, K), the `Plan`) of a call, once all fit each other."""
        check_devices(x, W, self.device)
        M, N, K = shape = self.spec.shape(x, W, N)
        plan = self.spec.plan(max(M, 1), N, K, machine_of(x.device))
        plan.check_rows(M)
        return self.spec.tensors(shape, x, W, scales, zeros, token_scales), shape, plan
