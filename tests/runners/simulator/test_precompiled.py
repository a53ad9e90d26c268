"""A precompiled header changes how long a compile takes, and nothing else."""

import re
import subprocess
from pathlib import Path

import pytest

import gemlite_edu
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator import build, compilers
from gemlite_edu.runners.simulator.instrument import INSTRUMENTED_FLAGS
from gemlite_edu.runners.simulator.whole_program import WHOLE_PROGRAM

TEXT = """#include <cuda_fp16.h>
__global__ void kernel(const float4* x, float* y) {
  __shared__ half staged[64];
  staged[threadIdx.x] = __float2half(x[threadIdx.x].y);
  __syncthreads();
  y[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFu, __half2float(staged[threadIdx.x]), 1);
}
"""
# What the kernels' compiles define: a header that knows one of these names is not used.
KERNELS = Path(gemlite_edu.__file__).parent / "kernels"
NAMES = {
    *re.findall(r'"([A-Z][A-Z_]*)":', "".join(p.read_text() for p in KERNELS.glob("*.py"))),
    *re.findall(r"\b[A-Z_]+_T\b", "".join(p.read_text() for p in KERNELS.rglob("*.cu*"))),
}
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
    "more",
    [
        [],
        [WHOLE_PROGRAM],
        INSTRUMENTED_FLAGS,
        [*INSTRUMENTED_FLAGS, "-DSIM_SPLIT_VECTORS"],
        build._GUARDING_FLAGS,
    ],
)
def test_the_compiler_uses_it(more, tmp_path):
    command = compile_command(TEXT, dict.fromkeys(NAMES, 1), more, tmp_path)
    read = subprocess.run([*command, "-fsyntax-only", "-H"], capture_output=True, text=True).stderr
    assert read.startswith("! ") and "cuda_runtime.h.gch" in read.splitlines()[0]


def test_its_functions_are_instantiated_in_it(tmp_path):
    command = compile_command("", {}, INSTRUMENTED_FLAGS, tmp_path)
    command[command.index("-include") + 2 :] = ["-x", "c++", "/dev/null"]
    said = subprocess.run([*command, "-S", "-o", "-", "-Q"], capture_output=True, text=True).stderr
    functions, is_whole, _ = said.partition("Analyzing compilation unit")
    assert is_whole and "sim_" not in functions.replace(
        "sim_copy_whole(T*, const T*) [with T = SimPair", ""
    )


def compile_command(text, defines, more, folder):
    text, flags = build._prepare(text, "kernel", defines)
    compiler = compilers.find_instrumenting_compiler()
    return [str(word) for word in build._compile_command(compiler, flags + more, folder, text)]


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
