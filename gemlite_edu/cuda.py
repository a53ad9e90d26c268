"""Floor 3: CUDA kernels on the GPU, compiled by `torch.utils.cpp_extension.load_inline`.

No torch header is compiled: the entry is `extern "C"` (cuda_kernels/bindings.cu), called by ctypes.
"""

import contextlib
import ctypes
import hashlib
import io
import os
import shutil
import sys
import threading
from functools import cache
from pathlib import Path

import torch

from gemlite_edu import sources
from gemlite_edu.build_cache import cached_build, program_identity

# torch switches the conversions of half off; the kernels may use them, as plain CUDA does.
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
    """The loaded library of the kernel function `entry` in `text`, for one GPU architecture.

    defines: dict of macro values. replace: the learner's texts in it, to quote in a compile error.
    Raises KernelTextError where the text does not compile, RuntimeError without nvcc.
    """
    flags = [*_FLAGS, f"-arch=sm_{capability[0]}{capability[1]}", f"-DKERNEL={entry}"]
    flags += [f"-D{name}={value}" for name, value in defines.items()]
    text = f"{text}\n{sources.read('bindings.cu')}"
    key = ("cuda kernel", text, *flags, torch.__version__, program_identity(find_nvcc()))
    folder = cached_build(key, lambda folder: _build(folder, text, flags, replace))
    return _load(str(next(folder.glob("*.so"))))


def launch(library, arguments, grid, threads, shared_bytes, device):
    """Launch on the current stream of `device`. arguments: CUDA tensors and ints, in order."""
    values = [
        ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else ctypes.c_int(a)
        for a in arguments
    ]
    addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream(device).cuda_stream
        error = library.launch(addresses, *grid, threads, shared_bytes, stream)
    if error:
        raise RuntimeError(f"the launch failed: {library.error_text(error).decode()}")


def find_nvcc():
    """Path of CUDA's compiler: from $CUDA_HOME, PATH or /usr/local/cuda. RuntimeError if none."""
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
        raise sources.explain_compiler_error(str(error), replace) from None


@contextlib.contextmanager
def _ninja_on_path():
    """load_inline runs ninja by name; pip puts it beside python, which may not be on PATH."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


@cache
def _load(path):
    library = ctypes.CDLL(path)
    library.launch.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    library.launch.restype = ctypes.c_int
    library.error_text.argtypes = [ctypes.c_int]
    library.error_text.restype = ctypes.c_char_p
    return library
