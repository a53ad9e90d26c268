"""Run CUDA kernels on a CPU: the host's C++ compiler compiles the kernel's own text."""

from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners.simulator.arguments import Integer, NullPointer, Tensor
from gemlite_edu.runners.simulator.build import build_instrumented_kernel, build_kernel
from gemlite_edu.runners.simulator.inspection import inspect_kernel, inspect_text
from gemlite_edu.runners.simulator.kept_processes import kept_alive
from gemlite_edu.runners.simulator.operations import Operations, count_operations
from gemlite_edu.runners.simulator.record import NO_WINDOW, Record, Step, Window
from gemlite_edu.runners.simulator.report import Report
from gemlite_edu.runners.simulator.run import run_kernel

__all__ = [
    "Integer",
    "Launch",
    "NO_WINDOW",
    "NullPointer",
    "Operations",
    "Record",
    "Report",
    "Step",
    "Tensor",
    "Window",
    "build_instrumented_kernel",
    "build_kernel",
    "count_operations",
    "inspect_kernel",
    "inspect_text",
    "kept_alive",
    "run_kernel",
]
