import pytest
import torch

from gemlite_edu.runners import simulator


@pytest.fixture(autouse=True)
def several_workers():
    """Blocks run at the same time here; elsewhere `make test` gives the simulator one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def launch():
    """launch(text, outputs={...}, inputs={...}, integers=[...]) runs `text`'s function `kernel`."""

    def run(text, outputs, inputs=None, integers=(), time_limit=10.0, **launch):
        library = simulator.build_kernel(text, "kernel", {})
        arguments = [simulator.Tensor(name, value) for name, value in (inputs or {}).items()]
        arguments += [
            simulator.Tensor(name, value, is_output=True) for name, value in outputs.items()
        ]
        arguments += [simulator.Integer(value) for value in integers]
        launch = simulator.Launch(**{"grid": (1, 1), "threads": 32} | launch)
        simulator.run_kernel(library, arguments, launch, time_limit)
        return next(iter(outputs.values()))

    return run


@pytest.fixture
def lanes():
    return torch.full((32,), -1, dtype=torch.int32)


C_TYPES = {
    torch.float32: "float",
    torch.float16: "half",
    torch.int32: "int",
    torch.uint8: "unsigned char",
    torch.int8: "signed char",
}


@pytest.fixture
def inspect():
    """inspect(statements, x=..., y=...) gives the report of a kernel with that body, and its text.

    The kernel is kernel(const T* x, T* y, int n), T as the tensors are; it knows `t`, its thread.
    Defaults: x of 1, 2, ... 64, y of 64 zeros, n = 64, one block of 64 threads. before: what stands
    before the kernel. window: the steps to record.
    """

    def run(
        statements,
        x=None,
        y=None,
        n=64,
        before="",
        time_limit=10.0,
        window=simulator.NO_WINDOW,
        **launch,
    ):
        x = torch.arange(1.0, 65) if x is None else x
        y = torch.zeros(64) if y is None else y
        parameters = f"const {C_TYPES[x.dtype]}* x, {C_TYPES[y.dtype]}* y, int n"
        text = (
            f"#include <cuda_fp16.h>\n{before}\n"
            f"__global__ void kernel({parameters}) {{\n"
            f"const int t = threadIdx.x;\n{statements}\n}}\n"
        )
        library = simulator.build_instrumented_kernel(text, "kernel", {})
        arguments = [
            simulator.Tensor("x", x),
            simulator.Tensor("y", y, is_output=True),
            simulator.Integer(n),
        ]
        launch = simulator.Launch(**{"grid": (1, 1), "threads": 64} | launch)
        report = simulator.inspect_kernel(
            library, text, arguments, launch, time_limit, "test", window=window
        )
        return report, text

    return run


@pytest.fixture
def inspect_each(inspect):
    """inspect_each({name: statements}) gives {name: the first finding as text, or ""}.

    All statements are cases of one kernel, which is compiled once and launched for each.
    """

    def run(table, **options):
        cases = "\n".join(f"case {i}: {{ {s} }} break;" for i, s in enumerate(table.values()))
        statements = f"y[t + 64 * blockIdx.x] = 0;\nswitch (n) {{\n{cases}\n}}"
        reports = {name: inspect(statements, n=i, **options)[0] for i, name in enumerate(table)}
        return {name: str(next(iter(r.findings), "")) for name, r in reports.items()}

    return run
