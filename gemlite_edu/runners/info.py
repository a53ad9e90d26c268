"""Print the facts that a bug report needs: `python -m gemlite_edu.runners.info`."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version

import gemlite_edu
from gemlite_edu.runners.build_cache import cache_folder


def report():
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


def _version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _or_why_not(fact):
    try:
        return fact()
    except (ImportError, OSError, RuntimeError) as error:
        return f"none: {error}"


def _compiler():
    from gemlite_edu.runners.simulator.compilers import find_compiler

    return _first_line([find_compiler(), "--version"])


def _cuda_compiler():
    from gemlite_edu.runners.cuda import find_nvcc

    return _first_line([find_nvcc(), "--version"], contains="release")


def _first_line(command, contains=""):
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return next((line for line in lines if contains in line), "unknown")


def _gpus():
    try:
        import torch
    except ImportError as error:
        return {"GPU": f"unknown: {error}"}
    if not torch.cuda.is_available():
        return {"GPU": "none (kernels run in the simulator)"}
    found = {"CUDA of torch": torch.version.cuda}
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        memory = properties.total_memory / 2**30
        found[f"GPU {i}"] = (
            f"{properties.name}, compute capability {properties.major}.{properties.minor}, "
            f"{properties.multi_processor_count} multiprocessors, {memory:.0f} GiB"
        )
    return found


if __name__ == "__main__":
    print(report())
