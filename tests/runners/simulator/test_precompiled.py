"""A precompiled header changes how long a compile takes, and nothing else."""

import subprocess

import pytest

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator import build
from gemlite_edu.runners.simulator.instrument import INSTRUMENTED_FLAGS

TEXT = """#include <cuda_fp16.h>
__global__ void kernel(const float4* x, float* y) {
  __shared__ half staged[64];
  staged[threadIdx.x] = __float2half(x[threadIdx.x].y);
  __syncthreads();
  y[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFu, __half2float(staged[threadIdx.x]), 1);
}
"""
MISTAKES = ["int i = x;", "__shfl_sync(~0u, blockDim, 0);", 'asm("ld.global");', "undeclared();"]
LINES = ("sites.txt", "lines.txt", "arrays.txt", "reads.json")


@pytest.fixture
def as_text(monkeypatch, tmp_path):
    """as_text() makes the compiler read the shim from now on, as it did before."""

    def change():
        monkeypatch.setattr(build, "header_to_include", lambda *_: build.SHIM / "cuda_runtime.h")
        monkeypatch.setenv("GEMLITE_EDU_CACHE", str(tmp_path / "as_text"))

    monkeypatch.setenv("GEMLITE_EDU_CACHE", str(tmp_path / "precompiled"))
    return change


@pytest.mark.parametrize(
    "more", [[], INSTRUMENTED_FLAGS, [*INSTRUMENTED_FLAGS, "-DSIM_SPLIT_VECTORS"]]
)
def test_the_compiler_uses_it(more, tmp_path):
    text, flags = build._prepare(TEXT, "kernel", {"X_T": "half", "ROWS": 4})
    compiler = build.find_instrumenting_compiler()
    command = build._compile_command(compiler, flags + more, tmp_path, text)
    command = [*map(str, command), "-fsyntax-only", "-H"]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert read.startswith("! ") and "cuda_runtime.h.gch" in read.splitlines()[0]


def test_what_is_instrumented_stays_the_same(as_text):
    folder = simulator.build_instrumented_kernel(TEXT, "kernel", {}).parent
    precompiled = [(folder / name).read_text() for name in LINES]
    as_text()
    folder = simulator.build_instrumented_kernel(TEXT, "kernel", {}).parent
    assert [(folder / name).read_text() for name in LINES] == precompiled


def test_what_the_compiler_says_stays_the_same(as_text):
    precompiled = [refusal(mistake) for mistake in MISTAKES]
    as_text()
    assert [refusal(mistake) for mistake in MISTAKES] == precompiled


def refusal(mistake):
    text = TEXT.replace("__syncthreads();", mistake)
    with pytest.raises(KernelTextError) as caught:
        simulator.build_kernel(text, "kernel", {})
    return str(caught.value)


def test_where_it_is_missing_the_compiler_reads_the_text(as_text, tmp_path):
    simulator.build_kernel(TEXT, "kernel", {})
    for header in tmp_path.glob("precompiled/*/*.gch"):
        header.unlink()
    assert simulator.build_kernel(TEXT + "\n", "kernel", {}).exists()
