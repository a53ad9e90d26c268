"""The text of a kernel, compiled for either machine when first needed, and run there."""

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.machine import SIMULATED_CAPABILITY
from gemlite_edu.numbers.checks import pointers_of
from gemlite_edu.runners import simulator


class KernelText:
    """The CUDA text `name`, whose __global__ function is `entry`, with the learner's `replace`.

    What a launch needs beside the tensors is a plan: a `Launch` of `launches`.
    """

    def __init__(self, name, entry, replace, time_limit):
        self.source, self.replace = sources.expand(name, replace), dict(replace or {})
        self._entry, self._time_limit = entry, time_limit
        self._libraries = {}

    def run(self, plan, tensors, out):
        """Launch with `tensors` {name: tensor or None}, on their device; write y into `out`."""
        if out.is_cuda:
            self.ready(plan, out.device)(pointers_of((*tensors.values(), out)))
        else:
            self._run_in_simulator(plan, tensors, out)

    def inspect(self, plan, tensors, y, title, recorded):
        """A `Report` of the launch in the simulator under instruments, which writes to `y`."""
        _poison(y)
        arguments, launch = _simulated(plan, tensors, y)
        library = simulator.build_instrumented_kernel(
            self.source, self._entry, plan.defines, self.replace
        )
        columns, rows = plan.grid
        title = f"{title}: {columns} x {rows} blocks of {plan.threads} threads"
        return simulator.inspect_kernel(
            library, self.source, arguments, launch, self._time_limit, title, recorded
        )

    def build_for_simulator(self, plan):
        """Path of the simulator's library, compiled if it is not in the cache."""
        key = ("cpu", *plan.defines.values())
        if key not in self._libraries or not self._libraries[key].exists():
            self._libraries[key] = simulator.build_kernel(
                self.source, self._entry, plan.defines, self.replace
            )
        return self._libraries[key]

    def build_for_gpu(self, plan, device):
        """The loaded library for a GPU, compiled if it is not in the cache."""
        from gemlite_edu.runners import cuda

        key = (device, *plan.defines.values())
        if key not in self._libraries:
            self._libraries[key] = cuda.build_kernel(
                self.source, self._entry, plan.defines, capability_of(device), self.replace
            )
        return self._libraries[key]

    def ready(self, plan, device, behind=None):
        """The `cuda.ReadyLaunch` on a GPU, called with `pointers_of` its tensors, y last."""
        from gemlite_edu.runners import cuda

        return cuda.ReadyLaunch(self.build_for_gpu(plan, device), plan, device, behind)

    def _run_in_simulator(self, plan, tensors, out):
        result = torch.empty_like(out)
        _poison(result)
        arguments, launch = _simulated(plan, tensors, result)
        simulator.run_kernel(self.build_for_simulator(plan), arguments, launch, self._time_limit)
        out.copy_(result)


def capability_of(device):
    """Compute capability of the machine that kernels on `device` run on."""
    if device.type != "cuda":
        return SIMULATED_CAPABILITY
    return torch.cuda.get_device_capability(device)


def _simulated(plan, tensors, out):
    """(arguments, launch) for the simulator, which writes to `out`."""
    launch = simulator.Launch(plan.grid, plan.threads, plan.shared_bytes)
    arguments = [
        simulator.NullPointer() if value is None else simulator.Tensor(name, value)
        for name, value in tensors.items()
    ]
    arguments.append(simulator.Tensor("y", out, is_output=True))
    return arguments + [simulator.Integer(value) for value in plan.integers], launch


def _poison(y):
    """Before it is written, y is NaN; int32 has none."""
    y.fill_(torch.nan if y.dtype.is_floating_point else torch.iinfo(y.dtype).min)
