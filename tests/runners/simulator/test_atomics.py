"""Atomic operations: really atomic, no race among themselves, one with plain accesses."""

import re

import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault


def sentences(report):
    return [finding.sentence for finding in report.findings]


def test_blocks_that_run_at_the_same_time_lose_no_addition(launch):
    text = """__global__ void kernel(int* y) {
      for (int i = 0; i < 1000; ++i) atomicAdd(&y[i % 2], 1);
    }"""
    y = launch(text, {"y": torch.zeros(2, dtype=torch.int32)}, grid=(16, 1), threads=64)
    assert y.tolist() == [16 * 64 * 500] * 2


def test_a_float_in_global_memory_has_no_subnormals(launch):
    text = """__global__ void kernel(float* y) {
      __shared__ float s;
      s = 0.0f;
      atomicAdd(&s, 1e-40f);
      y[1] = s;
      atomicAdd(&y[0], 1e-40f);
    }"""
    y = launch(text, {"y": torch.zeros(2)}, threads=1)
    assert y[0] == 0 and y[1] > 0


def test_additions_of_a_block_are_no_race_and_one_request(inspect):
    report, _ = inspect(
        "y[t] = 0; __syncthreads();\natomicAdd(&y[t / 2], x[t]);\n__syncthreads(); y[t] += 1;"
    )
    assert sentences(report) == []
    (atomic,) = [line for line in report.lines if "atomicAdd" in line.code and line.name == "y"]
    assert (atomic.requests, atomic.op, atomic.bytes_per_lane) == (2, "store", 4)
    assert report.y[:3].tolist() == [4.0, 8.0, 12.0]


@pytest.mark.parametrize(
    "statements, said",
    [
        ("if (t == 0) y[0] = 0;\natomicAdd(&y[0], 1.0f);", "thread 0 also writes"),
        ("if (t < 32) atomicExch(&y[0], 1.0f);\nelse y[1] = y[0];", "reads y[0]"),
        ("__shared__ int s;\nif (t == 0) s = 0;\natomicAdd(&s, 1);", "writes s[0]"),
        ("__shared__ int s;\natomicExch(&s, t);\ny[t] = s;", "s[0], which thread"),
    ],
)
def test_a_plain_access_with_nothing_between_is_a_race(inspect, statements, said):
    report, _ = inspect(statements)
    assert any(
        said in sentence and re.search("stands between|nothing orders", sentence)
        for sentence in sentences(report)
    )


def test_a_plain_write_of_another_block_is_a_race(inspect):
    statements = "if (blockIdx.x == 0) y[t] = 0;\natomicAdd(&y[t], 1.0f);"
    report, _ = inspect(statements, grid=(2, 1))
    assert any("nothing orders two blocks" in sentence for sentence in sentences(report))


def test_an_addition_to_what_nothing_has_written_is_found(inspect):
    report, _ = inspect("atomicAdd(&y[t], 1.0f);")
    assert "reads y[0], which no thread has written before" in sentences(report)[0]


def test_an_exchange_reads_nothing_that_it_keeps(inspect):
    report, _ = inspect("atomicExch(&y[t], x[t]);", grid=(2, 1))
    assert sentences(report) == []
    assert torch.equal(report.y, torch.arange(1.0, 65))


def test_an_address_outside_is_found(inspect):
    report, _ = inspect("y[t] = 0;\natomicAdd(&y[t + 1], 1.0f);")
    assert any("y[64], outside y" in sentence for sentence in sentences(report))


def test_an_input_is_not_added_to(inspect):
    report, _ = inspect("y[t] = 0;\natomicAdd(const_cast<float*>(&x[t]), 1.0f);")
    assert "x[0], but x is an input" in sentences(report)[0]


def test_an_address_that_is_no_multiple_of_the_size_is_found(inspect):
    statements = "y[t] = 0;\natomicAdd(reinterpret_cast<int*>(reinterpret_cast<char*>(y) + 2), 1);"
    report, _ = inspect(statements)
    assert "must begin at a multiple of 4" in sentences(report)[0]


def test_a_null_pointer_is_found(launch):
    text = "__global__ void kernel(int* y) { atomicAdd(static_cast<int*>(nullptr), 1); }"
    with pytest.raises(KernelFault, match="reached a null pointer"):
        launch(text, {"y": torch.zeros(1, dtype=torch.int32)})
