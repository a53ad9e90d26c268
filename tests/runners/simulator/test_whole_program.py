"""A kernel's text is all of its program: a library has no function that nothing calls."""

import re

import pytest

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners.simulator.build import build_instrumented_kernel, build_kernel
from gemlite_edu.runners.simulator.source_lines import run_tool

TEXT = """#include <cuda_fp16.h>
__device__ float helper(half x, float y) { return __half2float(x) * y; }
__global__ void kernel(const half* x, float* y) {
  y[threadIdx.x] = helper(x[threadIdx.x], y[threadIdx.x]);
}
"""


@pytest.mark.parametrize("build", [build_kernel, build_instrumented_kernel])
def test_an_inlined_function_is_not_compiled_again_on_its_own(build):
    symbols = run_tool("readelf", "--symbols", "--wide", build(TEXT, "kernel", {}))
    functions = re.findall(
        r" FUNC .* (\w*(?:helper|kernel|sim_run_lane)\w*)$", symbols, re.MULTILINE
    )
    assert any("kernel" in name for name in functions) and "sim_run_lane" in functions
    assert not any("helper" in name for name in functions)


RETURNED = """__device__ const float* own(float value) {
  const float mine = value;
  const float* pointer = &mine;
  return pointer;
}
__global__ void kernel(float* y) { y[threadIdx.x] = *own(y[threadIdx.x]); }
"""


@pytest.mark.parametrize("build", [build_kernel, build_instrumented_kernel])
def test_a_function_that_returns_the_address_of_its_variable_is_refused_though_inlined(build):
    with pytest.raises(KernelTextError, match="address of local variable"):
        build(RETURNED, "kernel", {}, {"kernel": RETURNED})
