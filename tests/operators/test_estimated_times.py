"""What large batches should take, and what they took on an H200."""

import json
import re
import statistics
from pathlib import Path

import pytest

from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.operators import estimate as estimates
from gemlite_edu.operators.estimate import dense_us, fused_us, is_sooner_dense
from gemlite_lab.bench import measurements

PAGE = Path(__file__).parent.parent.parent / "docs" / "kernels.md"
FUSED, DENSE = "gemm_a16wn_fast", "dequantize_then_cublas"


@pytest.fixture(scope="module")
def took():
    """{(kernel, nbits, M, N, K): microseconds} in groups of 128, of batches that have a choice."""
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    return {
        (row.kernel, int(row.weights[1]), row.M, row.N, row.K): row.p50_us
        for row in rows
        if row.kernel in (FUSED, DENSE) and re.fullmatch(r"W\d g128", row.weights)
        if 64 < row.M <= 1024 and int(row.weights[1]) in estimates._STEP_SCALES
    }


@pytest.fixture(scope="module")
def losses(took):
    """[{problem: by how much what is chosen took the GPU longer than the other}], of calls and of
    graphs; 1 for as long or less."""
    problems = [problem for kernel, *problem in took if kernel == DENSE]
    return [
        {tuple(problem): _loss(took, *problem, is_captured) for problem in problems}
        for is_captured in (False, True)
    ]


def _loss(took, nbits, M, N, K, is_captured):
    is_dense = is_sooner_dense(M, N, K, FastWeights(nbits, 128), is_captured)
    us = {kernel: took[kernel, nbits, M, N, K] for kernel in (FUSED, DENSE)}
    return us[DENSE if is_dense else FUSED] / min(us.values())


@pytest.mark.parametrize("kernel, estimate, most", [(FUSED, fused_us, 1.4), (DENSE, dense_us, 1.3)])
def test_what_was_measured_is_near(took, kernel, estimate, most):
    for (measured_kernel, nbits, M, N, K), us in took.items():
        if measured_kernel == kernel:
            assert 1 / most < estimate(M, N, K, FastWeights(nbits, 128)) / us < most


def test_the_choice_is_seldom_the_longer_one(took, losses):
    calls, graphs = losses
    assert {nbits for nbits, *_ in graphs} == estimates._STEP_SCALES.keys()
    (of_calls, most_of_calls), (of_graphs, most_of_graphs) = (
        (statistics.mean(of.values()) - 1, max(of.values()) - 1) for of in losses
    )
    assert of_graphs < 0.005 and most_of_graphs < 0.07 and most_of_calls < 0.25
    worst = max(calls, key=calls.get)
    lost_us = abs(took[FUSED, *worst] - took[DENSE, *worst])
    prose = " ".join(PAGE.read_text().split())
    assert (
        f"fitted to the {len(graphs)} problems of 8, 4, 2 and 1 bits at which both were measured: "
        f"there it costs a graph {of_graphs:.1%} on average, and {most_of_graphs:.0%} at most; on "
        f"the GPU it costs a call by itself {of_calls:.1%}, and {most_of_calls:.0%} at most "
        f"({lost_us:.1f} µs"
    ) in prose
    example = (4, 1024, 3072, 8192)
    assert f"{took[FUSED, *example]:.0f} µs fused, {took[DENSE, *example]:.0f} dequantized" in prose


def test_a_layer_that_the_host_waits_for_is_never_dequantized(took):
    """Launching by Triton and torch takes the host longer than these take the GPU."""
    for (kernel, nbits, M, N, K), us in took.items():
        if kernel == FUSED and us < 70:
            assert not is_sooner_dense(M, N, K, FastWeights(nbits, 128))
    for nbits in (4, 2, 1):
        assert not is_sooner_dense(100, 1024, 1024, FastWeights(nbits, 128))


def test_what_the_host_takes_for_dense_weights_is_about_what_was_measured():
    path = measurements.path_of("NVIDIA H200")
    record = json.loads(path.with_name("call_overhead_nvidia_h200.json").read_text())
    row = record["rows"]["1024"]
    assert row["matmul_type"] == "DEQUANTIZE"
    *_, total = (part["total_us"] for part in row["parts"].values())
    assert estimates._HOST_US == pytest.approx(total, rel=0.15)  # 72 to 76 in runs of one day


@pytest.mark.parametrize("is_captured", [False, True])
def test_both_ways_are_chosen(losses, is_captured):
    chosen = {
        is_sooner_dense(M, N, K, FastWeights(nbits, 128), is_captured)
        for nbits, M, N, K in losses[is_captured]
    }
    assert chosen == {True, False}


def test_a_batch_of_more_rows_takes_no_less_time():
    weights = FastWeights(4, 128)
    for estimate in (fused_us, dense_us):
        times = [estimate(M, 4096, 4096, weights) for M in (256, 512, 1024, 2048)]
        assert times == sorted(times)
