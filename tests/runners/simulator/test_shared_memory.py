import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners import simulator

READS_UNWRITTEN = {
    "static": "__shared__ float data[64];",
    "dynamic": "extern __shared__ float data[];",
    "aligned": "extern __shared__ __align__(16) float data[];",
}


@pytest.mark.parametrize("declaration", READS_UNWRITTEN.values(), ids=READS_UNWRITTEN)
def test_each_block_starts_with_nan_in_shared_memory(launch, declaration):
    text = f"""
    __global__ void kernel(float* out) {{
      {declaration}
      out[blockIdx.x * 32 + threadIdx.x] = data[threadIdx.x];
      data[threadIdx.x] = 1.0f;
    }}"""
    out = launch(text, {"out": torch.zeros(40, 32)}, grid=(40, 1), shared_bytes=128)
    assert out.isnan().all()


def test_dynamic_shared_memory_is_as_large_as_a_block_may_ask(launch):
    text = """
    __global__ void kernel(float* out) {
      extern __shared__ float data[];
      data[232448 / 4 - 1 - threadIdx.x] = threadIdx.x;
      __syncthreads();
      out[threadIdx.x] = data[232448 / 4 - 32 + threadIdx.x];
    }"""
    out = launch(text, {"out": torch.zeros(32)}, shared_bytes=232448)
    assert out.tolist() == list(range(31, -1, -1))


def test_a_write_beyond_what_the_launch_asked_for_is_a_fault(launch):
    text = """
    __global__ void kernel(float* out) {
      extern __shared__ float data[];
      data[threadIdx.x] = 1.0f;
      out[threadIdx.x] = 1.0f;
    }"""
    launch(text, {"out": torch.zeros(32)}, shared_bytes=128)
    with pytest.raises(KernelFault, match=r"block \(0, 0\) wrote byte 120 .* asked for 120"):
        launch(text, {"out": torch.zeros(32)}, shared_bytes=120)


def test_a_forgotten_barrier_is_wrong_in_every_block_and_the_same_in_every_run(launch):
    text = """
    __global__ void kernel(float* out) {
      __shared__ float data[64];
      data[threadIdx.x] = threadIdx.x;
      out[blockIdx.x * 64 + threadIdx.x] = data[63 - threadIdx.x];
    }"""
    runs = [launch(text, {"out": torch.zeros(9, 64)}, grid=(9, 1), threads=64) for _ in range(3)]
    assert runs[0].isnan().sum(1).tolist() == [32] * 9
    assert all(torch.equal(run.isnan(), runs[0].isnan()) for run in runs)


def test_two_dynamic_arrays_are_refused_because_cuda_puts_them_in_one_place():
    text = "__global__ void kernel() { extern __shared__ int a[]; extern __shared__ float b[]; }"
    with pytest.raises(ValueError, match="a and b are all extern __shared__"):
        simulator.build_kernel(text, "kernel", {})
