"""What a bug report needs to know of this machine, and what the package can do here."""

import os
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import gemlite_edu
from gemlite_edu.runners.build_cache import cache_folder


def report() -> str:
    """Versions, compilers and devices as lines `name: value`; a missing one gives the reason."""
    facts = {
        "gemlite_edu": gemlite_edu.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count(),
        **{name: _version_of(name) for name in ("torch", "triton", "numpy", "ninja")},
        "C++ compiler": _or_why_not(_compiler),
        "CUDA compiler": _or_why_not(_cuda_compiler),
        **_gpus(),
        "kernel cache": _or_why_not(cache_folder),
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items())


def abilities() -> str:
    """What runs where on this machine, as lines `what: where`."""
    has_gpu, has_nvcc, has_compiler = _has_gpu(), _finds(_cuda_compiler), _finds(_compiler)
    on_cpu = "the simulator" if has_compiler else "nowhere: no C++ compiler was found"
    on_gpu = "the GPU" if has_nvcc else "not on the GPU, because no nvcc was found"
    can = {
        "CUDA kernels of CPU tensors": on_cpu,
        "Triton kernels of CPU tensors": "Triton's interpreter",
        "GemLiteLinear on the CPU": "dense weights, made for the call",
    }
    if has_gpu:
        can["CUDA kernels of CUDA tensors"] = on_gpu
        can["GemLiteLinear and Triton kernels on CUDA tensors"] = "the GPU"
    return "\n".join(f"{what}: {where}" for what, where in can.items())


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _finds(compiler: Callable[[], object]) -> bool:
    try:
        return bool(compiler())
    except (OSError, RuntimeError):
        return False


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _or_why_not(fact: Callable[[], object]) -> object:
    try:
        return fact()
    except (ImportError, OSError, RuntimeError) as error:
        return f"none: {error}"


def _compiler() -> str:
    from gemlite_edu.runners.simulator.compilers import find_compiler

    return _first_line([find_compiler(), "--version"])


def _cuda_compiler() -> str:
    from gemlite_edu.runners.cuda import find_nvcc

    return _first_line([find_nvcc(), "--version"], contains="release")


def _first_line(command: list[str], contains: str = "") -> str:
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return next((line for line in lines if contains in line), "unknown")


def _gpus() -> dict[str, object]:
    try:
        import torch
    except ImportError as error:
        return {"GPU": f"unknown: {error}"}
    if not torch.cuda.is_available():
        return {"GPU": "none (kernels run in the simulator)"}
    found: dict[str, object] = {"CUDA of torch": torch.version.cuda}
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        memory = properties.total_memory / 2**30
        found[f"GPU {i}"] = (
            f"{properties.name}, compute capability {properties.major}.{properties.minor}, "
            f"{properties.multi_processor_count} multiprocessors, {memory:.0f} GiB"
        )
    return found
