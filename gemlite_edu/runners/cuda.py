"""Run CUDA kernels on the GPU; `torch.utils.cpp_extension.load_inline` compiles them.

Builds need no torch headers, because ctypes calls the `extern "C"` functions of
kernels/cuda/shared/bindings.cu.
"""

import contextlib
import ctypes
import hashlib
import io
import os
import shutil
import struct
import sys
import threading
from functools import cache, partial
from pathlib import Path

import torch

from gemlite_edu.kernels import compiler_errors, sources
from gemlite_edu.runners.build_cache import cached_build, program_identity

# torch disables half's operators and conversions; the kernels use them, as plain CUDA allows.
_FLAGS = [
    "-O3",
    "-std=c++17",
    "-U__CUDA_NO_HALF_OPERATORS__",
    "-U__CUDA_NO_HALF_CONVERSIONS__",
    "-U__CUDA_NO_HALF2_OPERATORS__",
    "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
]

_BUILDING = threading.Lock()  # a build changes PATH and stdout of the whole process


def build_kernel(text, entry, defines, capability, replace=None):
    """Compile the kernel function `entry` in `text` for one GPU architecture; returns the library.

    defines: {macro: value}. replace: the learner's texts in `text`, quoted in compile errors.
    Raises KernelTextError if the text does not compile, RuntimeError if there is no nvcc.
    """
    flags = [*_FLAGS, architecture_flag(capability), f"-DKERNEL={entry}"]
    flags += [f"-D{name}={value}" for name, value in defines.items()]
    text = f"{text}\n{sources.read('bindings.cu')}"
    key = ("cuda kernel", text, *flags, torch.__version__, program_identity(find_nvcc()))
    folder = cached_build(key, lambda folder: _build(folder, text, flags, replace))
    return _load(str(next(folder.glob("*.so"))))


def architecture_flag(capability):
    """The nvcc flag that compiles for this GPU only; for Hopper it includes wgmma.

    The short form -arch=sm_90a does not work: with it, nvcc 13.0 also compiles for compute_90,
    which has no wgmma.
    """
    major, minor = capability
    number = f"{major}{minor}{'a' if capability == (9, 0) else ''}"
    return f"-gencode=arch=compute_{number},code=sm_{number}"


class ReadyLaunch:
    """A prepared launch that needs only the tensors' pointers; several threads may call it.

    library: from `build_kernel`. launch: a `Launch`. device: a torch.device with an index.
    behind: a `ReadyLaunch` that the same call launches first. It takes two tensors and writes the
    second one, which is the first of this launch. A call then takes the pointers of those two,
    followed by the other tensors of this launch.
    """

    def __init__(self, library, launch, device, behind=None):
        self._library, self._device = library, device.index
        shape = *launch.grid, launch.threads, launch.shared_bytes
        self._blocks = f"{launch.threads} threads and {launch.shared_bytes} bytes of shared memory"
        numbers = device.index, *shape, launch.cluster, launch.starts_early, len(launch.integers)
        numbers += launch.integers
        self._packed = _struct_of(len(numbers)).pack(*numbers)
        self.launch = partial(library.launch, self._packed)
        if behind is not None:
            address = ctypes.cast(behind._library.launch, ctypes.c_void_p)
            self.launch = partial(library.launch_behind, address, behind._packed, self._packed)
            self._blocks = f"{behind._blocks}, then of {self._blocks}"

    def __call__(self, pointers):
        """Launch on the device's current stream.

        pointers: the addresses of the tensors, y last; 0 for an absent tensor.
        """
        error = self.launch(self.numbers(pointers))
        if error:
            why = self._library.error_text(error).decode()
            raise RuntimeError(
                f"the launch failed: {why} (blocks of {self._blocks}, besides what the text takes)"
            )

    def numbers(self, pointers):
        """The packed stream and pointers that `launch` of bindings.cu reads."""
        stream = torch._C._cuda_getCurrentRawStream(self._device)
        return _struct_of(1 + len(pointers)).pack(stream, *pointers)


@cache
def _struct_of(count):
    """A struct of `count` 64-bit integers."""
    return struct.Struct(f"{count}q")


def find_nvcc():
    """Path of nvcc, from PATH, $CUDA_HOME or /usr/local/cuda; RuntimeError if there is none."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    path = shutil.which("nvcc") or shutil.which(f"{home}/bin/nvcc")
    if path:
        return path
    raise RuntimeError(
        "nvcc, the CUDA compiler, was not found, and kernels for the GPU need it: install the CUDA "
        "toolkit of torch.version.cuda's version and set CUDA_HOME, or load with device='cpu'"
    )


def _build(folder, text, flags, replace):
    from torch.utils.cpp_extension import load_inline

    output = io.StringIO()
    try:
        with _BUILDING, _ninja_on_path(), contextlib.redirect_stdout(output):
            load_inline(
                name=f"kernel_{hashlib.sha256(text.encode()).hexdigest()[:16]}",
                cpp_sources="",
                cuda_sources=text,
                extra_cuda_cflags=flags,
                build_directory=str(folder),
                is_python_module=False,
                no_implicit_headers=True,
                with_cuda=True,
            )
    except RuntimeError as error:
        raise compiler_errors.explain_compiler_error(str(error), replace) from None


@contextlib.contextmanager
def _ninja_on_path():
    """Put python's folder on PATH: pip installs ninja there, and load_inline runs it by name."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


@cache
def _load(path):
    library = ctypes.CDLL(path)
    library.launch.argtypes = [ctypes.c_char_p] * 2
    library.launch_behind.argtypes = [ctypes.c_void_p, *[ctypes.c_char_p] * 3]
    library.launch.restype = library.launch_behind.restype = ctypes.c_int
    library.error_text.argtypes = [ctypes.c_int]
    library.error_text.restype = ctypes.c_char_p
    return library
