"""Blocks of two and three dimensions: lanes are numbered along x first."""

import pytest
import torch

from gemlite_edu.runners import simulator

TEXT = """__global__ void kernel(int* y) {
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int neighbour = __shfl_down_sync(~0u, t, 1);
  y[4 * t] = threadIdx.x, y[4 * t + 1] = threadIdx.y, y[4 * t + 2] = threadIdx.z;
  y[4 * t + 3] = neighbour;
}"""


@pytest.mark.parametrize("shape", [(64,), (16, 4), (2, 4, 8)])
def test_each_thread_knows_its_place(shape):
    y = torch.zeros(64, 4, dtype=torch.int32)
    launch = simulator.Launch((1, 1), shape)
    report = simulator.inspect_text(TEXT, [simulator.Tensor("y", y, is_output=True)], launch)
    assert not report.findings
    assert report.title == f"kernel: 1 x 1 blocks of {' x '.join(map(str, shape))} threads"
    x, depth, z = (torch.arange(n) for n in (*shape, 1, 1)[:3])
    places = torch.stack(torch.meshgrid(z, depth, x, indexing="ij"), -1).reshape(64, 3).flip(1)
    assert torch.equal(y[:, :3].long(), places)
    assert y[:, 3].tolist() == [t if t % 32 == 31 else t + 1 for t in range(64)]


def test_a_report_counts_threads_as_warps_do(launch):
    text = "__global__ void kernel(int* y) { y[100 * threadIdx.y + threadIdx.x] = 1; }"
    tensor = simulator.Tensor("y", torch.zeros(104, dtype=torch.int32), is_output=True)
    report = simulator.inspect_text(text, [tensor], simulator.Launch((1, 1), (8, 2)))
    assert "thread 12 writes y[104]" in report.findings[0].sentence


@pytest.mark.parametrize("threads", [(1024, 2), (1, 1, 65), (8, 0), (1, 1, 1, 1)])
def test_what_no_block_may_be_is_refused(launch, threads):
    with pytest.raises(ValueError, match="64 deep, of 1 to 1024 threads"):
        launch(TEXT, {"y": torch.zeros(4)}, threads=threads)
