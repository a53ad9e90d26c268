"""Floor 3: CUDA kernels on a CPU. The kernel's own text, compiled by the host's C++ compiler."""

from gemlite_edu.simulator.build import build_kernel
from gemlite_edu.simulator.run import Integer, Launch, Tensor, run_kernel

__all__ = ["Integer", "Launch", "Tensor", "build_kernel", "run_kernel"]
