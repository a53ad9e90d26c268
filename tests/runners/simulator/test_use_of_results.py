"""A run with spoiled results tells whether a kernel's outputs depend on them."""

import pytest
import torch

from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator.use_of_results import SHARED, SHUFFLES, spoiling

N = 64
KERNEL = """
__global__ void kernel(const {type}* x, {type}* y) {{
  __shared__ {type} tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  __syncthreads();
  const {type} other = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);
  y[threadIdx.x] = {result};
}}
"""


def depends(result, what, dtype=torch.float32):
    x = torch.arange(1, N + 1, dtype=dtype)
    y = torch.zeros_like(x)
    kind = {torch.float32: "float", torch.int32: "int", torch.float64: "double"}[dtype]
    arguments = simulator.Tensor("x", x), simulator.Tensor("y", y, is_output=True)
    with spoiling(what) as found:
        text = KERNEL.format(type=kind, result=result)
        report = simulator.inspect_text(text, arguments, simulator.Launch((1, 1), N))
    report.raise_findings()
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.float64])
def test_an_output_that_comes_of_a_shuffle_or_of_a_shared_array_depends_on_it(dtype):
    assert depends("other", SHUFFLES, dtype) == [True]
    assert depends("tile[63 - threadIdx.x]", SHARED, dtype) == [True]


def test_a_result_that_is_thrown_away_is_not_used():
    away = "x[threadIdx.x] + (other == 999.0f || tile[threadIdx.x] == 999.0f ? 1 : 0)"
    assert depends(away, SHUFFLES) == depends(away, SHARED) == [False]
    assert depends("tile[threadIdx.x]", SHUFFLES) == depends("other", SHARED) == [False]


def test_a_run_that_breaks_off_depends_on_it():
    assert depends("x[__shfl_sync(0xffffffff, threadIdx.x, 0)]", SHUFFLES) == [True]


def test_nothing_runs_again_where_nothing_is_asked():
    assert depends("other", 0) == []
