import pytest
import torch

from gemlite_edu import simulator


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
