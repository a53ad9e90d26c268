"""Barriers in shared memory, bulk copies that they count, and who never comes to them."""

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault

THREADS, PIECES = 64, 5
START = "if (threadIdx.x == 0) barrier_init(&full, 1), barrier_init(&empty, 32); __syncthreads();"
PRODUCER = """
  if (threadIdx.x == 32) {
    for (int i = 0; i < 5; ++i) {
      if (i > 0) barrier_wait(&empty, i - 1);
      barrier_arrive_expecting(&full, 128);
      bulk_copy(piece, &x[i * 32], 128, &full);
    }
  }"""
CONSUMERS = """
  if (threadIdx.x < 32) {
    for (int i = 0; i < 5; ++i) {
      barrier_wait(&full, i);
      y[i * 32 + threadIdx.x] = 2 * piece[threadIdx.x];
      barrier_arrive(&empty);
    }
  }"""


def text(*statements):
    header = sources.expand_header("bulk_copies.cuh")
    body = "\n".join(statements)
    return f"""{header}
    __global__ void kernel(const float* x, float* y) {{
      __shared__ __align__(16) float piece[32];
      __shared__ uint64_t full, empty;
      {body}
    }}"""


def run(launch, *statements):
    x, y = torch.arange(32.0 * PIECES), torch.zeros(32 * PIECES)
    launch(text(*statements), {"y": y}, {"x": x}, threads=THREADS)
    return x, y


def test_a_stage_goes_to_and_fro(launch):
    x, y = run(launch, START, PRODUCER, CONSUMERS)
    assert torch.equal(y, 2 * x)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("barrier_wait(&full, i);", ""),
        ("if (i > 0) barrier_wait(&empty, i - 1);", ""),
    ],
)
def test_a_wait_left_out_is_noticed(launch, right, wrong):
    producer, consumers = PRODUCER.replace(right, wrong), CONSUMERS.replace(right, wrong)
    with pytest.raises((KernelFault, AssertionError)):
        x, y = run(launch, START, producer, consumers)
        assert torch.equal(y, 2 * x)


@pytest.mark.parametrize(
    "right, wrong, told",
    [
        (
            "full, 128)",
            "full, 144)",
            r"waits for ever for a phase .*arrivals \(0\) and bytes of bulk copies \(16\)",
        ),
        (
            "full, 128)",
            "full, 1 << 24)",
            "makes 16777216 bytes that a barrier waits for: it counts",
        ),
        ("barrier_arrive(&empty);", "", r"thread 0 waits for ever .*arrivals \(1\)"),
        ("&empty, 32)", "&empty, 4095)", "makes a barrier of 4095 arrivals"),
        ("barrier_init(&full, 1),", "", "uses a barrier that nothing has made"),
        ("barrier_init(&full, 1)", "barrier_init((uint64_t*)y, 1)", "not in shared memory"),
        ("bulk_copy(piece, ", "bulk_copy(piece + 1, ", "bulk copy to an address that is no mult"),
        ("&x[i * 32]", "&x[i * 32 + 1]", "bulk copy from an address that is no multiple of 16"),
        ("&x[i * 32]", "&x[i * 32 + 32]", "a bulk copy of 128 bytes that are not all in the ten"),
        ("&x[i * 32]", "piece", "bulk copy from an address that is not in global memory"),
        ("128, &full", "120, &full", "bulk copy of 120 bytes: its size is a multiple of 16"),
        ("bulk_copy(piece,", "bulk_copy(y,", "bulk copy to 128 bytes that are not all in shared"),
    ],
)
def test_a_mistake_is_one_sentence(launch, right, wrong, told):
    statements = [part.replace(right, wrong) for part in (START, PRODUCER, CONSUMERS)]
    with pytest.raises(KernelFault, match=told) as caught:
        run(launch, *statements)
    assert "\n" not in str(caught.value)


def test_too_many_arrivals_are_told(launch):
    with pytest.raises(KernelFault, match="where all 1 that it takes have come in this phase"):
        run(launch, START, "barrier_arrive_expecting(&full, 128); y[threadIdx.x] = 1;")


def test_all_lanes_of_the_largest_block_may_arrive(launch):
    y = torch.zeros(1024)
    arrives = "if (threadIdx.x == 0) barrier_init(&full, 1024); __syncthreads();"
    waits = "barrier_arrive(&full); barrier_wait(&full, 0); y[threadIdx.x] = 1;"
    launch(text(arrives, waits), {"y": y}, {"x": torch.zeros(1)}, threads=1024)
    assert y.all()
