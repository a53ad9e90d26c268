"""CUDA's functions of numbers in the shim against what a GPU gave, every bit of it.

tools/record_intrinsics.py writes the file that this reads.
"""

import json
from pathlib import Path

import intrinsic_functions
import pytest
import torch
from intrinsic_functions import EXACT, EXHAUSTIVE, FUNCTIONS

from gemlite_edu.runners import simulator

RECORDED = Path(intrinsic_functions.__file__).with_name("recorded_intrinsics.json")
ON_A_GPU = json.loads(RECORDED.read_text())["functions"]


@pytest.fixture(scope="module")
def simulated():
    """What intrinsic_functions.record keeps of the simulator's results; one compile."""
    library = simulator.build_kernel(intrinsic_functions.text(), "kernel", {})

    def run(operands, functions):
        count = operands.shape[-1]
        out = torch.zeros(functions, count, dtype=torch.int64)
        arguments = [
            simulator.Tensor("in", operands),
            simulator.Tensor("out", out, is_output=True),
            simulator.Integer(count),
        ]
        simulator.run_kernel(library, arguments, simulator.Launch((1, functions), 1), 60)
        return out

    return intrinsic_functions.record(
        run(intrinsic_functions.every_operand(), len(EXHAUSTIVE)),
        run(intrinsic_functions.chosen_operands(), len(FUNCTIONS)),
    )


def test_every_function_is_recorded():
    assert list(ON_A_GPU) == [function.key for function in FUNCTIONS]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.key)
def test_it_gives_what_the_gpu_gave(simulated, function):
    here, there = simulated[function.key], ON_A_GPU[function.key]
    if function.ulps == EXACT:
        assert here == there, differences(function, here, there)
    else:
        assert _ulps_apart(_floats(here), _floats(there)) <= function.ulps


def differences(function, here, there):
    """Where the values that are kept differ; the rest is in the hash alone."""
    ours, theirs = (intrinsic_functions.unpacked(each["values"]) for each in (here, there))
    operands = intrinsic_functions.operands_of(function)
    return [
        f"{function.name}{tuple(map(hex, operands[:, i].tolist()))}: "
        f"{ours[i].item():#x}, on a GPU {theirs[i].item():#x}"
        for i in (ours != theirs).nonzero().flatten().tolist()
    ] or "in values that are not kept: record with RAW"


def _floats(recorded):
    values = intrinsic_functions.unpacked(recorded["values"])
    return values.to(torch.uint32).view(torch.int32).long()


def _ulps_apart(a, b):
    """Steps between two tensors of the bits of floats; a NaN is the same as a NaN only."""
    ordered = [torch.where(bits < 0, -(2**31) - bits, bits) for bits in (a, b)]
    return (ordered[0] - ordered[1]).abs().max().item()
