"""Every kernel compiles for the GPUs that learners have; no GPU is needed for that."""

import subprocess

import pytest

from gemlite_edu import cuda, sources
from gemlite_edu.devices import SIMULATED_CAPABILITY
from gemlite_edu.launches import KERNELS

try:
    NVCC = cuda.find_nvcc()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)

ARCHITECTURES = (75, 80, 86, 90)
OLDEST_AND_NEWEST = (75, 90)
PACKED = [name for name, launch in KERNELS.items() if launch.is_packed]
ANY_N, ANY_K = 32, 640
LOOSE_WIDTH = 3  # does not divide 32

OF_ONE_ROW = [
    *((name, dict(group_size=64)) for name in PACKED),
    *((name, dict(nbits=LOOSE_WIDTH, x_dtype=KERNELS[name].x_dtypes[-1])) for name in PACKED),
    *((name, dict(nbits=1)) for name in PACKED if KERNELS[name].takes_nbits),
]
OF_EIGHT_ROWS = [(name, dict(M=8, group_size=40)) for name in PACKED]


def id_of(value):
    return value if isinstance(value, str) else " ".join(f"{k}={v}" for k, v in value.items())


def defines(name, x_dtype=None, M=1, nbits=4, group_size=None):
    """What is compiled into the kernel `name`, as arguments for nvcc."""
    x_dtype = x_dtype or KERNELS[name].x_dtypes[0]
    plan = KERNELS[name].plan(
        M, ANY_N, ANY_K, x_dtype, SIMULATED_CAPABILITY, nbits=nbits, group_size=group_size
    )
    return [f"-D{name}={value}" for name, value in plan.defines.items()]


def compile_with_nvcc(kernel, options, folder, architectures):
    """What ptxas says of the kernel on each architecture."""
    source = folder / "kernel.cu"
    source.write_text(sources.expand(kernel) + "\n" + sources.read("bindings.cu"))
    command = [NVCC, "-c", "-O3", "-std=c++17", "-Xptxas=-v", source, "-o", folder / "o"]
    command += [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    command += [*defines(kernel, **options), "-DKERNEL=gemv"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stderr


def count_without_spills(said):
    return said.count("0 bytes spill stores, 0 bytes spill loads")


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_compiles_without_spills_for_all(kernel, tmp_path):
    said = compile_with_nvcc(kernel, {}, tmp_path, ARCHITECTURES)
    assert count_without_spills(said) == len(ARCHITECTURES)


@pytest.mark.parametrize("kernel, options", OF_ONE_ROW, ids=id_of)
def test_other_builds_compile_without_spills(kernel, options, tmp_path):
    said = compile_with_nvcc(kernel, options, tmp_path, OLDEST_AND_NEWEST)
    assert count_without_spills(said) == len(OLDEST_AND_NEWEST)


@pytest.mark.parametrize("kernel, options", OF_EIGHT_ROWS, ids=id_of)
def test_it_compiles_for_eight_rows_and_groups(kernel, options, tmp_path):
    said = compile_with_nvcc(kernel, options, tmp_path, OLDEST_AND_NEWEST)
    assert said.count("bytes spill stores") == len(OLDEST_AND_NEWEST)
