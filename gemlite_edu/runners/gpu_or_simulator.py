"""`Program`, which runs a kernel's CUDA text on either machine, a GPU or the simulator.

On both machines `build` compiles the text and `run` launches a plan. `inspect` runs a plan with
instruments, which only the simulator has.
"""

from copy import copy

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.numbers.checks import aligned, pointers_of
from gemlite_edu.runners import builds_ahead, nvcc_beside, simulator


class Program:
    """The CUDA text `name` with the learner's `replace` {hole: text}, built when first needed.

    A plan may also launch other texts, which prepare x; `replace` does not apply to those.
    time_limit: seconds of processor time after which the simulator stops a kernel.
    """

    def __init__(self, name, replace=None, time_limit=60.0):
        self.source, self.replace = sources.expand(name, replace), dict(replace or {})
        self._name, self._time_limit = name, time_limit
        self._libraries = {}

    def with_changed_source(self, change):
        """A copy of the program, not yet built, whose text is `change(source)`."""
        program = copy(self)
        program.source, program._libraries = change(self.source), {}
        return program

    def build(self, plan, device):
        """Compile every text of the plan for `device`; returns the library of the plan's product.

        For a GPU this is a loaded library, for the simulator a path.
        """
        return [self._built(launch, device) for launch in plan.launches][-1]

    def run(self, plan, tensors, out):
        """Launch the plan with `tensors` {name: tensor or None}, x first; write y into `out`."""
        if not out.is_cuda:
            self._simulate(plan, tensors, out)
            return
        y = aligned(out)  # some kernels write y in pieces of 16 bytes
        self.ready(plan, out.device)(pointers_of((*tensors.values(), y)))
        if y is not out:
            out.copy_(y)

    def ready(self, plan, device):
        """A function that runs the plan on a GPU; call it with `pointers_of` (x, ..., y)."""
        from gemlite_edu.runners import cuda

        behind = None
        for launch in plan.launches:
            behind = cuda.ReadyLaunch(self._built(launch, device), launch, device, behind)
        if not plan.image_halves:
            return behind
        launch_both, empty = behind, torch.empty(0, dtype=torch.float16, device=device)

        def launch_with_image(pointers):
            x, *others = pointers
            image = empty.new_empty(plan.image_halves)
            launch_both((x, image.data_ptr(), *others))

        return launch_with_image

    def inspect(self, plan, tensors, y, title, recorded, window):
        """Run the plan's product in the simulator with instruments: fill `y`, return a `Report`.

        window: the `simulator.Window` of steps to record, or `simulator.NO_WINDOW`.
        """
        launch, tensors = plan.product, self._prepared(plan, tensors)
        nvcc_beside.begin(self.source, launch, self.replace)
        _poison(y)
        library = simulator.build_instrumented_kernel(
            self.source, launch.entry, launch.defines, self.replace
        )
        builds_ahead.end_if_only_built()
        title = f"{title}: {launch}"
        arguments = _arguments(launch, tensors, y)
        return simulator.inspect_kernel(
            library, self.source, arguments, launch, self._time_limit, title, recorded, window
        )

    def count_operations(self, plan, tensors, y):
        """Run the plan's product in the simulator into `y`, and count its operations."""
        launch = plan.product
        arguments = _arguments(launch, self._prepared(plan, tensors), y)
        return simulator.count_operations(
            self.source, launch.entry, arguments, launch, self._time_limit
        )

    def _built(self, launch, device):
        key = (device, launch.text, *launch.defines.values())
        library = self._libraries.get(key)
        if library is None or (device.type == "cpu" and not library.exists()):
            library = self._libraries[key] = self._compiled(launch, device)
        return library

    def _compiled(self, launch, device):
        is_own = launch.text == self._name
        source = self.source if is_own else sources.expand(launch.text)
        replace = self.replace if is_own else {}
        if device.type == "cpu":
            return simulator.build_kernel(source, launch.entry, launch.defines, replace)
        from gemlite_edu.runners import cuda

        capability = machine_of(device).capability
        return cuda.build_kernel(source, launch.entry, launch.defines, capability, replace)

    def _simulate(self, plan, tensors, out):
        self._simulate_launch(plan.product, self._prepared(plan, tensors), out)

    def _prepared(self, plan, tensors):
        """The tensors of the plan's product; the image of x replaces x if the product reads it."""
        if not plan.image_halves:
            return tensors
        x, *_ = tensors.values()
        image = x.new_empty(plan.image_halves)
        self._simulate_launch(plan.launches[0], {"x": x}, image)
        return {"x_image": image} | {name: t for name, t in tensors.items() if name != "x"}

    def _simulate_launch(self, launch, tensors, out):
        result = torch.empty_like(out)
        _poison(result)
        library = self._built(launch, torch.device("cpu"))
        arguments = _arguments(launch, tensors, result)
        simulator.run_kernel(library, arguments, launch, self._time_limit)
        out.copy_(result)


def _arguments(launch, tensors, out):
    """The arguments for the simulator: the tensors, y, and the launch's integers."""
    arguments = [
        simulator.NullPointer() if value is None else simulator.Tensor(name, value)
        for name, value in tensors.items()
    ]
    arguments.append(simulator.Tensor("y", out, is_output=True))
    return arguments + [simulator.Integer(value) for value in launch.integers]


def _poison(y):
    """Fill y with NaN, or with the smallest int32, so that an output left unwritten shows."""
    y.fill_(torch.nan if y.dtype.is_floating_point else torch.iinfo(y.dtype).min)
