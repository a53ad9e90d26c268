"""`Program`, which runs a kernel's CUDA text on either machine, a GPU or the simulator.

On both machines `build` compiles the text and `run` launches a plan. `inspect` runs a plan with
instruments, which only the simulator has.
"""

from copy import copy
from dataclasses import replace as with_changes

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.numbers.checks import aligned, pointers_of
from gemlite_edu.runners import builds_ahead, nvcc_beside, simulator

_SCRATCH = "scratch"  # an image of x, or what blocks leave for each other
_TERMS = ("channel_scales", "token_scales", "bias")  # finish y, behind the sums if there are some


class Program:
    """The CUDA text `name` with the learner's `replace` {hole: text}, built when first needed.

    A plan may also launch other texts, which prepare a scratch or add up sums; `replace` does not
    apply to them.
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
        for launch in plan.launches:
            self._built(launch, device)
        return self._built(plan.product, device)

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

        if plan.sums_shape:
            return self._ready_with_sums(plan, device)
        behind = None
        for launch in plan.launches:
            behind = cuda.ReadyLaunch(self._built(launch, device), launch, device, behind)
        if plan.scratch_halves is None:
            return behind
        if plan.scratch_halves == 0:
            return lambda pointers: behind((0, *pointers))
        launch_both, empty = behind, torch.empty(0, dtype=torch.float16, device=device)

        def launch_with_scratch(pointers):
            scratch = empty.new_empty(plan.scratch_halves)
            launch_both((pointers[0], scratch.data_ptr(), *pointers))

        return launch_with_scratch

    def _ready_with_sums(self, plan, device):
        from gemlite_edu.runners import cuda

        multiply, add = (
            cuda.ReadyLaunch(self._built(launch, device), launch, device)
            for launch in plan.launches
        )
        empty = torch.empty(0, dtype=torch.float32, device=device)

        def launch_with_sums(pointers):
            x, words, scales, zeros, *terms, levels, y = pointers
            sums = empty.new_empty(plan.sums_shape)
            multiply((x, words, scales, zeros, 0, 0, 0, levels, sums.data_ptr()))
            add((sums.data_ptr(), *terms, y))

        return launch_with_sums

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
        operands, output = _of_product(plan, tensors, y)
        arguments = _arguments(launch, operands, output)
        report = simulator.inspect_kernel(
            library, self.source, arguments, launch, self._time_limit, title, recorded, window
        )
        if output is y or report.y is None:
            return report
        self._add_up(plan, output, tensors, y)
        return with_changes(report, y=y)

    def count_operations(self, plan, tensors, y):
        """Run the plan's product in the simulator into `y`, and count its operations."""
        launch = plan.product
        operands, output = _of_product(plan, self._prepared(plan, tensors), y)
        arguments = _arguments(launch, operands, output)
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
        tensors = self._prepared(plan, tensors)
        operands, output = _of_product(plan, tensors, out)
        self._simulate_launch(plan.product, operands, output)
        if output is not out:
            self._add_up(plan, output, tensors, out)

    def _add_up(self, plan, sums, tensors, y):
        terms = {name: tensors[name] for name in _TERMS}
        self._simulate_launch(plan.launches[-1], {"sums": sums} | terms, y)

    def _prepared(self, plan, tensors):
        """The tensors of the plan's product, with its scratch if it takes one."""
        if plan.scratch_halves is None:
            return tensors
        scratch = None
        if plan.scratch_halves > 0:
            x = next(iter(tensors.values()))
            scratch = x.new_empty(plan.scratch_halves)
            self._simulate_launch(plan.launches[0], {"x": x}, scratch)
        return {_SCRATCH: scratch} | tensors

    def _simulate_launch(self, launch, tensors, out):
        result = torch.empty_like(out)
        _poison(result)
        library = self._built(launch, torch.device("cpu"))
        arguments = _arguments(launch, tensors, result)
        simulator.run_kernel(library, arguments, launch, self._time_limit)
        out.copy_(result)


def _of_product(plan, tensors, y):
    """(tensors, output) of the plan's product; it writes sums if another launch adds them up."""
    if not plan.sums_shape:
        return tensors, y
    sums = torch.empty(plan.sums_shape)
    _poison(sums)
    return tensors | dict.fromkeys(_TERMS), sums


def _arguments(launch, tensors, out):
    """The arguments for the simulator: the tensors, y, and the launch's integers."""
    arguments = [
        simulator.NullPointer()
        if value is None
        else simulator.Tensor(name, value, is_scratch=name == _SCRATCH)
        for name, value in tensors.items()
    ]
    arguments.append(simulator.Tensor("y", out, is_output=True))
    return arguments + [simulator.Integer(value) for value in launch.integers]


def _poison(y):
    """Fill y with NaN, or with the smallest int32, so that an output left unwritten shows."""
    y.fill_(torch.nan if y.dtype.is_floating_point else torch.iinfo(y.dtype).min)
