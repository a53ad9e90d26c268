"""Every kernel compiles for the GPUs that learners have; no GPU is needed for that."""

import subprocess

import pytest

from gemlite_edu import cuda, sources
from gemlite_edu.kernels import KERNELS

try:
    NVCC = cuda.find_nvcc()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)

ARCHITECTURES = (75, 80, 86, 90)


@pytest.mark.parametrize(
    "kernel, x_type, nbits",
    [*((kernel, "half", 4) for kernel in KERNELS)]
    + [("gemv_a16wn_fp32", "__nv_bfloat16", 3), ("gemv_a16wn_fp32", "half", 1)],
)
def test_it_compiles_without_spills(kernel, x_type, nbits, tmp_path):
    source = tmp_path / "kernel.cu"
    source.write_text(sources.expand(kernel) + "\n" + sources.read("bindings.cu"))
    command = [
        NVCC,
        "-c",
        "-O3",
        "-std=c++17",
        "-Xptxas=-v",
        str(source),
        "-o",
        str(tmp_path / "o"),
    ]
    command += [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
    command += [f"-DX_T={x_type}", f"-DW_NBITS={nbits}", "-DKERNEL=gemv"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("0 bytes spill stores, 0 bytes spill loads") == len(ARCHITECTURES)
