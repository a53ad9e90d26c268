"""What a bug report needs, in a few lines: `python -m gemlite_edu.info`."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version

import gemlite_edu
from gemlite_edu.build_cache import cache_folder


def report():
    """Versions, compilers and devices as text, one `name: value` a line. Never raises."""
    facts = {
        "gemlite_edu": gemlite_edu.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count(),
        **{name: _version_of(name) for name in ("torch", "triton", "numpy", "ninja")},
        "C++ compiler": _compiler(),
        "CUDA compiler": _cuda_compiler(),
        **_gpus(),
        "kernel cache": cache_folder(),
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items())


def _version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _compiler():
    from gemlite_edu.simulator.build import find_compiler

    try:
        return _first_line([find_compiler(), "--version"])
    except RuntimeError as error:
        return error


def _cuda_compiler():
    from gemlite_edu.cuda import find_nvcc

    try:
        return _first_line([find_nvcc(), "--version"], contains="release")
    except RuntimeError:
        return "none (needed only to run kernels on a GPU)"


def _first_line(command, contains=""):
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return next((line for line in lines if contains in line), "unknown")


def _gpus():
    import torch

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
