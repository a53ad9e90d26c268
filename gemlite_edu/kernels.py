"""Floor 3½: one way to call every CUDA kernel. `load` picks the runner, a call checks the data."""

from dataclasses import dataclass

import torch

from gemlite_edu import nsight, simulator, sources
from gemlite_edu.devices import MAX_GRID_Y, SIMULATED_CAPABILITY, shared_bytes_per_block
from gemlite_edu.operands import check_matrix, check_no_grad, per_channel, shares_memory
from gemlite_edu.packing.warp_interleaved import WARP_SIZE, WarpInterleaved
from gemlite_edu.quantize import check_nbits

_X_TYPES = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16"}
_TIME_LIMIT = 60.0
_LONGEST_TIME_LIMIT = 86400
_ENTRY = "gemv"  # the __global__ function of every text


@dataclass(frozen=True)
class _Launch:
    """What the host must know of a kernel: the text knows the rest."""

    is_packed: bool  # takes packed words with scales and zeros, not a plain W
    stages_x: bool = False  # x in dynamic shared memory
    threads: int = 1024
    threads_per_output: int = WARP_SIZE


KERNELS = {
    "gemv_a16w16_naive": _Launch(is_packed=False, threads=256, threads_per_output=1),
    "gemv_a16w16_coalesced": _Launch(is_packed=False),
    "gemv_a16w16_warp": _Launch(is_packed=False),
    "gemv_a16w16_shared": _Launch(is_packed=False, stages_x=True),
    "gemv_a16wn_fp32": _Launch(is_packed=True, stages_x=True),
}


def load(
    name, nbits=None, x_dtype=torch.float16, replace=None, device="auto", time_limit=_TIME_LIMIT
):
    """The kernel `name`, ready to be called: `y = kernel(x, W, scales, zeros)`.

    nbits: width of the codes, 1 to 8, for kernels with packed weights.
    x_dtype: torch.float16 or torch.bfloat16, of x and y.
    replace: {hole: CUDA text} to stand in the kernel's holes, e.g. {"dequant_dot": my_text}.
    device: "cpu" compiles for the simulator now, "cuda" for the current GPU now; "auto" compiles at
        the first call for where its tensors are.
    time_limit: seconds after which the simulator stops a kernel.

    Raises ValueError or TypeError for unknown names, widths, dtypes, holes and texts that do not
    compile; RuntimeError without a compiler.
    """
    if not isinstance(name, str) or name not in KERNELS:
        raise ValueError(f"there is no kernel {name!r}; there are {', '.join(KERNELS)}")
    if x_dtype not in _X_TYPES:
        raise ValueError(f"x_dtype must be torch.float16 or torch.bfloat16, got {x_dtype}")
    if KERNELS[name].is_packed and nbits is None:
        raise TypeError(f"{name} needs nbits, the width of its codes, from 1 to 8")
    if KERNELS[name].is_packed:
        check_nbits(nbits)
    elif nbits is not None:
        raise ValueError(f"{name} takes unquantized weights: leave nbits out")
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("torch sees no CUDA GPU here: load with device='cpu' for the simulator")
    if not isinstance(time_limit, (int, float)) or not 0 < time_limit <= _LONGEST_TIME_LIMIT:
        raise ValueError(
            f"time_limit must be seconds, up to {_LONGEST_TIME_LIMIT}, got {time_limit!r}"
        )
    kernel = Kernel(name, nbits, x_dtype, replace, device, time_limit)
    if device == "cpu":
        kernel.compile_for_simulator()
    elif device == "cuda":
        kernel.compile_for_gpu(torch.device("cuda", torch.cuda.current_device()))
    return kernel


class Kernel:
    """A kernel with all that is compile-time decided. Made by `load`; `source` is its CUDA text."""

    def __init__(self, name, nbits, x_dtype, replace, device, time_limit):
        self.name, self.nbits, self.x_dtype = name, nbits, x_dtype
        self.source = sources.expand(name, replace)
        self.replace, self.device, self.time_limit = dict(replace or {}), device, time_limit
        self._launch = KERNELS[name]
        self._libraries = {}
        self._defines = {"X_T": _X_TYPES[x_dtype]}
        if nbits is not None:
            self._defines["W_NBITS"] = nbits

    def __repr__(self):
        return f"Kernel({self._title()}, device={self.device!r})"

    def _title(self):
        width = "" if self.nbits is None else f", nbits={self.nbits}"
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.name}{width}, x_dtype={self.x_dtype}{holes}"

    def __call__(self, x, W, scales=None, zeros=None, out=None):
        """`y[m, n] = scales[n] * sum_k (W_q[n, k] - zeros[n]) x[m, k]`, or `y = x Wᵀ`.

        x: (M, K) x_dtype. W: packed words (N, words) int32 as `packing.pack_warped_int32` makes
        them, or (N, K) x_dtype for plain kernels. scales, zeros: numbers, or float32 (N, 1).
        out: (M, N) x_dtype to write into; a new tensor otherwise. Returns y (M, N).
        On CUDA tensors it runs on their device's current stream, on CPU tensors in the simulator.
        """
        tensors, (M, N, K) = self._operands(x, W, scales, zeros)
        if out is None:
            out = torch.empty(M, N, dtype=self.x_dtype, device=x.device)
        else:
            self._check_out(out, (M, N), x.device, tensors)
        if M == 0:
            return out
        run = self._run_on_gpu if x.is_cuda else self._run_in_simulator
        run(tensors, out, (N, K), self.grid(M, N))
        return out

    def inspect(self, x, W, scales=None, zeros=None):
        """A `Report` of what the kernel does to memory with these operands, and of what is wrong.

        It runs in the simulator under instruments: requests, sectors, wavefronts per line, and each
        access checked. Operands as for a call, on the CPU; M at least 1. `report.y` is the output.
        Raises what a call raises for wrong operands; what the kernel does wrong is in
        `report.findings`.
        """
        tensors, (M, N, K) = self._operands(x, W, scales, zeros)
        if x.device.type != "cpu":
            raise ValueError(
                f"x is on {x.device}, and the simulator inspects on the CPU: use .cpu()"
            )
        if M == 0:
            raise ValueError("x has no rows: there is nothing to inspect")
        y = torch.full((M, N), torch.nan, dtype=self.x_dtype)
        arguments, launch = self._simulated_launch(tensors, y, (N, K), self.grid(M, N))
        library = simulator.build_instrumented_kernel(
            self.source, _ENTRY, self._defines, self.replace
        )
        columns, rows = launch.grid
        title = (
            f"{self._title()}, M = {M}, N = {N}, K = {K}: "
            f"{columns} x {rows} blocks of {launch.threads} threads"
        )
        return simulator.inspect_kernel(
            library, self.source, arguments, launch, self.time_limit, title, self._recorded()
        )

    def _recorded(self):
        if self.replace:
            return ""
        width = "" if self.nbits is None else f", {self.nbits} bits"
        return nsight.where_recorded(f"{self.name}{width}, {str(self.x_dtype)[6:]}")

    @property
    def threads_per_block(self):
        """Threads in each block of a launch."""
        return self._launch.threads

    def grid(self, M, N):
        """Blocks (x, y) of a launch for y of shape (M, N)."""
        outputs_per_block = self._launch.threads // self._launch.threads_per_output
        return -(-N // outputs_per_block), M

    def compile_for_simulator(self):
        """Path of this kernel's library for the simulator, compiled if it is not in the cache."""
        if "cpu" not in self._libraries or not self._libraries["cpu"].exists():
            self._libraries["cpu"] = simulator.build_kernel(
                self.source, _ENTRY, self._defines, self.replace
            )
        return self._libraries["cpu"]

    def compile_for_gpu(self, device):
        """This kernel's loaded library for `device`, compiled if it is not in the cache."""
        from gemlite_edu import cuda

        if device not in self._libraries:
            capability = torch.cuda.get_device_capability(device)
            self._libraries[device] = cuda.build_kernel(
                self.source, _ENTRY, self._defines, capability, self.replace
            )
        return self._libraries[device]

    def _run_in_simulator(self, tensors, out, sizes, grid):
        result = torch.full_like(out, torch.nan)
        arguments, launch = self._simulated_launch(tensors, result, sizes, grid)
        simulator.run_kernel(self.compile_for_simulator(), arguments, launch, self.time_limit)
        out.copy_(result)

    def _simulated_launch(self, tensors, out, sizes, grid):
        """(arguments, launch) for the simulator, which writes to `out`."""
        shared_bytes = self._shared_bytes(sizes[1], SIMULATED_CAPABILITY)
        launch = simulator.Launch(grid, self._launch.threads, shared_bytes)
        arguments = [simulator.Tensor(name, value) for name, value in tensors.items()]
        arguments.append(simulator.Tensor("y", out, is_output=True))
        return arguments + [simulator.Integer(size) for size in sizes], launch

    def _run_on_gpu(self, tensors, out, sizes, grid):
        from gemlite_edu import cuda

        capability = torch.cuda.get_device_capability(out.device)
        shared_bytes = self._shared_bytes(sizes[1], capability)
        library = self.compile_for_gpu(out.device)
        arguments = [*tensors.values(), out, *sizes]
        cuda.launch(library, arguments, grid, self._launch.threads, shared_bytes, out.device)

    def _shared_bytes(self, K, capability):
        """Dynamic shared memory of a launch; ValueError where the device's blocks have less."""
        if not self._launch.stages_x:
            return 0
        staged = WarpInterleaved(self.nbits).padded_K(K) if self._launch.is_packed else K
        needed, limit = staged * self.x_dtype.itemsize, shared_bytes_per_block(capability)
        if needed > limit:
            raise ValueError(
                f"x of K = {K} takes {needed} bytes of shared memory, and a block of compute "
                f"capability {capability[0]}.{capability[1]} has {limit}: split K over calls"
            )
        return needed

    def _operands(self, x, W, scales, zeros):
        """({name: tensor} for the kernel, (M, N, K)) once all fit each other and this kernel."""
        N = self._check_operands(x, W)
        tensors = {"x": x.contiguous(), "W": W.contiguous()}
        if self._launch.is_packed:
            for name, value in (("scales", scales), ("zeros", zeros)):
                if value is None:
                    raise TypeError(f"{self.name} needs {name}: a number, or float32 ({N}, 1)")
                tensors[name] = per_channel(name, value, N, x.device)
        elif scales is not None or zeros is not None:
            raise ValueError(f"{self.name} takes unquantized weights: leave scales and zeros out")
        return tensors, (x.shape[0], N, x.shape[1])

    def _check_operands(self, x, W):
        """N, once x and W are known to fit each other and this kernel."""
        check_matrix("x", x, self.x_dtype)
        check_matrix("W", W, torch.int32 if self._launch.is_packed else self.x_dtype)
        if x.device != W.device:
            raise ValueError(f"x is on {x.device} and W on {W.device}: move one to the other")
        if self.device != "auto" and x.device.type != self.device:
            raise ValueError(
                f"this kernel was loaded for {self.device!r} and x is on {x.device}: "
                f"move the tensors, or load(..., device='auto')"
            )
        (M, K), (N, columns) = x.shape, W.shape
        expected = (
            WarpInterleaved(self.nbits).packed_shape(N, K)[1] if self._launch.is_packed else K
        )
        if columns != expected:
            what = f"{self.nbits}-bit words" if self._launch.is_packed else "weights"
            raise ValueError(
                f"x has K = {K}, for which W must have {expected} columns of {what}, got {columns}"
            )
        if M > MAX_GRID_Y:
            raise ValueError(f"x has M = {M} rows, a launch takes {MAX_GRID_Y}: split x by rows")
        return N

    def _check_out(self, out, shape, device, tensors):
        if not isinstance(out, torch.Tensor):
            raise TypeError(f"out must be a torch.Tensor, got {type(out).__name__}")
        if out.dtype != self.x_dtype or tuple(out.shape) != shape or out.device != device:
            raise ValueError(
                f"out must be {shape} {self.x_dtype} on {device}, "
                f"got {tuple(out.shape)} {out.dtype} on {out.device}"
            )
        check_no_grad("out", out)
        if not out.is_contiguous():
            raise ValueError(f"out must be contiguous, its strides are {out.stride()}")
        for name, tensor in tensors.items():
            if shares_memory(out, tensor):
                raise ValueError(f"out shares its memory with {name}: pass a fresh tensor")
