"""Which kernel the layer chooses, for a grid of problems on four kinds of machines."""

import json
from itertools import groupby, product
from pathlib import Path

import pytest
import torch

from gemlite_edu.operators import fast_types
from gemlite_edu.operators.fast_types import chosen
from gemlite_edu.operators.matmul_choices import kind_of
from gemlite_edu.packing.plane_tiles import PlainTiles, best_layout

FROZEN = Path(__file__).parent.parent / "frozen" / "choices.json"
ROWS = (1, 2, 4, 5, 8, 9, 16, 64, 65, 128, 200, 256, 384, 512, 700, 768, 1024, 1025, 4096)
CODES = ("8/64", "4/128", "4/channel", "4/48", "3/64", "2/128", "1/128", "int8", "float16")
SIZES = ((4096, 4096), (5120, 13824), (4100, 4608))
TYPES = (
    ("float16", "float16", True),
    ("float16", "float16", False),
    ("float16", "float32", True),
    ("bfloat16", "bfloat16", True),
)
MACHINES = ("cpu", "7.5", "8.0", "9.0", "9.0 graph")
GRID = list(product(CODES, SIZES, TYPES, MACHINES))


def name_of(codes, size, types, machine):
    x, y, fits = types
    return f"{codes} {size[0]}x{size[1]} {x}>{y}{'' if fits else ' scales too small'} on {machine}"


def layout_of(codes, K):
    """None for groups that do not divide K."""
    if "/" not in codes:
        return PlainTiles(getattr(torch, codes), K)
    nbits, group = codes.split("/")
    group_size = None if group == "channel" else int(group)
    return None if K % (group_size or 1) else best_layout(int(nbits), K, group_size)


def choices(codes, size, types, machine):
    """The last of `ROWS` of each choice, as "8 GEMV_FAST, 4096 GEMM"; None without a layout."""
    (N, K), (x, y, fits) = size, types
    layout, x_dtype, y_dtype = layout_of(codes, K), getattr(torch, x), getattr(torch, y)
    if layout is None:
        return None
    kind = kind_of(layout.nbits is not None, x_dtype, y_dtype, fits)
    device, is_captured = torch.device("cpu" if machine == "cpu" else "cuda"), "graph" in machine
    names = [chosen(kind, M, N, layout, x_dtype, y_dtype, device, is_captured) for M in ROWS]
    runs = groupby(zip(ROWS, names, strict=True), key=lambda row: row[1])
    return ", ".join(f"{list(run)[-1][0]} {name}" for name, run in runs)


@pytest.fixture
def on(monkeypatch):
    """A function that lets CUDA tensors be on a machine of `MACHINES` with a compiler."""

    def on(machine):
        capability = tuple(map(int, machine.split()[0].split("."))) if machine != "cpu" else None
        monkeypatch.setattr(fast_types, "capability_of", lambda device: capability)
        monkeypatch.setattr(fast_types, "_compiles", lambda capability: True)

    return on


@pytest.mark.parametrize("machine", MACHINES)
def test_the_choice_is_what_was_measured_to_be_good(on, machine):
    on(machine)
    frozen = json.loads(FROZEN.read_text())
    expected = {name: choice for choice, names in frozen.items() for name in names}
    problems = {name_of(*problem): problem for problem in GRID if problem[-1] == machine}
    found = {name: choices(*problem) for name, problem in problems.items()}
    assert {name: choice for name, choice in found.items() if choice} == {
        name: choice for name, choice in expected.items() if name in problems
    }
