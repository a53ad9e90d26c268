"""Which kernel the layer chooses, for a grid of problems on four kinds of machines."""

import json
from itertools import groupby, product
from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.decoders import Coding
from gemlite_edu.kernels.machine import H200, Machine
from gemlite_edu.numbers.formats import NF4
from gemlite_edu.operators.choose import (
    FAST,
    INT4_RULES,
    MATMUL_TYPES,
    RULES,
    TERNARY_RULES,
    Problem,
    choose,
    limits,
)
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import best_layout
from gemlite_lab.bench import measurements

FROZEN = Path(__file__).parent.parent / "frozen" / "choices.json"
ROWS = (1, 2, 4, 5, 8, 9, 16, 64, 65, 128, 200, 256, 384, 512, 700, 768, 1024, 1025)
ROWS += (2048, 2049, 4096)
CODES = ("8/64", "4/128", "4/channel", "4/48", "3/64", "2/128", "1/128", "int8", "float16")
SIZES = ((4096, 4096), (5120, 13824), (4100, 4608))
TYPES = (
    ("float16", "float16", True),
    ("float16", "float16", False),
    ("float16", "float32", True),
    ("bfloat16", "bfloat16", True),
)
T4, A100 = Machine((7, 5), 40), Machine((8, 0), 108)
MACHINES = {"cpu": None, "7.5": T4, "8.0": A100, "9.0": H200}
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
    layout = layout_of(codes, K)
    if layout is None:
        return None
    keeps_16_bits = layout.nbits is not None and x == y and fits
    operands = layout, getattr(torch, x), getattr(torch, y), keeps_16_bits, MACHINES[machine]
    problems = [Problem(M, N, *operands) for M in ROWS]
    names = [choose(problem).matmul_type for problem in problems]
    runs = groupby(zip(ROWS, names, strict=True), key=lambda row: row[1])
    return ", ".join(f"{list(run)[-1][0]} {name}" for name, run in runs)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_choice_is_what_was_measured_to_be_good(machine):
    frozen = json.loads(FROZEN.read_text())
    expected = {name: choice for choice, names in frozen.items() for name in names}
    problems = {name_of(*problem): problem for problem in GRID if problem[-1] == machine}
    found = {name: choices(*problem) for name, problem in problems.items()}
    assert {name: choice for name, choice in found.items() if choice} == {
        name: choice for name, choice in expected.items() if name in problems
    }


def test_up_to_its_rows_the_fused_product_was_always_sooner_than_dense_weights():
    """Therefore the rule needs M alone."""
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    took = {(row.kernel, row.weights, row.M, row.N, row.K): row.p50_us for row in rows}
    both = [
        (us, took["gemm_a16wn_fast", *problem])
        for (kernel, *problem), us in took.items()
        if kernel == "dequantize_then_cublas" and ("gemm_a16wn_fast", *problem) in took
        if problem[1] <= 2048
    ]
    prose = " ".join(
        (Path(__file__).parent.parent.parent / "docs" / "kernels.md").read_text().split()
    )
    least = min(dense / fused for dense, fused in both) - 1
    assert f"at all {len(both)} problems of 8, 4, 2 and 1 bits at which both were measured" in prose
    assert f"by {least:.0%} at least" in prose
    example = ("W4 g128", 1024, 3072, 8192)
    dense, fused = (took[k, *example] for k in ("dequantize_then_cublas", "gemm_a16wn_fast"))
    assert f"{fused:.0f} µs fused, {dense:.0f} dequantized" in prose


def test_the_last_rule_takes_what_no_other_does():
    for rules in (RULES, INT4_RULES, TERNARY_RULES):
        assert rules[-1].most_rows is None and rules[-1].needs(None)
        assert all(rule.reason for rule in rules)
    assert {rule.matmul_type for rule in RULES} < MATMUL_TYPES.keys()
    assert FAST.keys() < {rule.matmul_type for rule in RULES}


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("machine", [None, A100, H200])
def test_limits_are_what_the_rules_choose(fits, machine):
    operands = best_layout(4, 1024, 128), torch.float16, torch.float16, fits, machine
    problem = Problem(1, 1024, *operands)
    *ends, last = [most for most, _ in limits(problem)]
    assert last is None and ends == sorted(set(ends))
    for M in range(1, max(ends) + 2):
        name = next(name for most, name in limits(problem) if most is None or M <= most)
        assert choose(problem._replace(M=M)).matmul_type == name


def test_codes_that_torch_alone_makes_dense_stay_fused():
    """Triton makes integers dense sooner, but reads no levels."""
    operands = best_layout(4, 8192, 128), torch.float16, torch.float16, True, H200
    integers = Problem(2049, 3072, *operands)
    levels = integers._replace(decoders=Coding.of(NF4).decoders)
    assert choose(integers._replace(M=2048)).matmul_type == "GEMM_FAST"
    assert choose(integers).matmul_type == "DEQUANTIZE"
    assert choose(levels).matmul_type == "GEMM_FAST"
    assert limits(levels) == ((4, "GEMV_FAST"), (None, "GEMM_FAST"))
