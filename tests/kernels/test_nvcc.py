"""Every kernel compiles for the GPUs that learners have; no GPU is needed for that."""

import subprocess

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.fast_weights import FastWeights, SparseWeights, Types
from gemlite_edu.kernels.gemm_fast import plan_gemm
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS, HOLE_BYTES, FastGemv, plan_gemv
from gemlite_edu.kernels.machine import H200, SIMULATED
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.kernels.ternary import TERNARY_KERNELS, Y_TYPES
from gemlite_edu.numbers.formats import NF4
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.runners import cuda

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
    nbits = nbits if KERNELS[name].takes_nbits else None
    spec = KERNELS[name].completed(nbits, x_dtype, group_size)
    return flags_of(spec.plan(M, ANY_N, ANY_K, SIMULATED))


def flags_of(plan):
    """The macros of the plan's product, as arguments for nvcc."""
    return [f"-D{name}={value}" for name, value in plan.product.defines.items()]


def compile_with_nvcc(kernel, options, folder, architectures):
    """What ptxas says of the kernel on each architecture."""
    return compile_text(kernel, "gemv", defines(kernel, **options), folder, architectures)


def compile_text(kernel, entry, defines, folder, architectures, replace=None, host=None):
    """What ptxas says of a text on each architecture.

    host: whether the host's half is compiled, too, which takes as long again and is the same in all
    builds of a text; by default where the build is for all architectures.
    """
    host = architectures == ARCHITECTURES if host is None else host
    source = folder / "kernel.cu"
    source.write_text(sources.expand(kernel, replace) + "\n" + sources.read("bindings.cu"))
    command = [
        NVCC,
        "-c" if host else "-fatbin",
        "-O3",
        "-std=c++17",
        "-Xptxas=-v",
        source,
        "-o",
        folder / "o",
    ]
    command += [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    command += [*defines, f"-DKERNEL={entry}"]
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


GEMV, GEMM = TERNARY_KERNELS
FP16 = torch.float16
FEW, SOME, MANY = (5, 4096), (100, 1000), (1024, 16384)  # M and N
OF_TERNARY_WEIGHTS = [  # kernel, fragment, (M, N), type of y, architectures
    (GEMV, None, (1, 100), FP16, ARCHITECTURES),
    (GEMV, None, (8, 100), torch.bfloat16, OLDEST_AND_NEWEST),
    (GEMM, "16x16x16", (16, 4096), FP16, ARCHITECTURES),
    (GEMM, "8x32x16", FEW, torch.int32, OLDEST_AND_NEWEST),
    *((GEMM, fragment, MANY, FP16, (90,)) for fragment in FRAGMENTS),
    *((GEMM, "16x16x16", shape, FP16, (90,)) for shape in ((64, 1000), SOME, (128, 8448))),
    (GEMM, "32x8x16", SOME, FP16, OLDEST_AND_NEWEST),
]


@pytest.mark.parametrize(
    "kernel, fragment, shape, y_dtype, architectures", OF_TERNARY_WEIGHTS, ids=str
)
def test_ternary_kernels_compile_without_spills(
    kernel, fragment, shape, y_dtype, architectures, tmp_path
):
    """Each as it is launched on that architecture, whose blocks have so much shared memory."""
    spec = TERNARY_KERNELS[kernel].completed(y_dtype=y_dtype, fragment=fragment)
    builds = {}
    for architecture in architectures:
        machine = SIMULATED._replace(capability=divmod(architecture, 10))
        flags = tuple(flags_of(spec.plan(*shape, 1024, machine)))
        builds.setdefault(flags, []).append(architecture)
    for flags, together in builds.items():
        host = architectures == ARCHITECTURES
        said = compile_text(kernel, spec.entry, flags, tmp_path, together, host=host)
        assert count_without_spills(said) == len(together), said


def test_ternary_kernels_have_all_types_of_y():
    assert {y_dtype for *_, y_dtype, _ in OF_TERNARY_WEIGHTS} == set(Y_TYPES)


BF16, FP32 = torch.bfloat16, torch.float32
OF_FAST_KERNELS = [  # weights, type of scales and zeros, M, type of x, architectures
    (FastWeights(4, 128), FP32, 1, FP16, ARCHITECTURES),
    *((FastWeights(nbits, 128), FP32, 1, FP16, OLDEST_AND_NEWEST) for nbits in (8, 2, 1)),
    (FastWeights(8, 64), FP32, 8, BF16, OLDEST_AND_NEWEST),
    (FastWeights(4, 128), FP32, 8, FP16, OLDEST_AND_NEWEST),
    (FastWeights(4), FP32, 4, BF16, OLDEST_AND_NEWEST),
    (FastWeights(2, 32), FP32, 2, BF16, OLDEST_AND_NEWEST),
    (FastWeights(1, 128), FP32, 8, FP16, OLDEST_AND_NEWEST),
    (SparseWeights(), FP16, 1, FP16, ARCHITECTURES),
    (SparseWeights(64), FP16, 8, BF16, OLDEST_AND_NEWEST),
]


@pytest.mark.parametrize(
    "weights, scale_dtype, M, x_dtype, architectures", OF_FAST_KERNELS, ids=str
)
def test_fast_kernels_compile_without_spills(
    weights, scale_dtype, M, x_dtype, architectures, tmp_path
):
    """As they are launched on an H200, whatever the architecture."""
    types = Types(x_dtype, x_dtype, scale_dtype, scale_dtype)
    flags = flags_of(plan_gemv(M, 8192, 8192, types, weights, SIMULATED))
    said = compile_text(weights.text, FastGemv.entry, flags, tmp_path, architectures)
    assert count_without_spills(said) == len(architectures), said


@pytest.mark.parametrize("M", [1, 8])
def test_a_table_compiles_without_spills(M, tmp_path):
    weights, types = FastWeights(4, 128, hole_bytes=HOLE_BYTES), Types(FP16, FP16, FP16, FP16)
    flags, holes = flags_of(plan_gemv(M, 8192, 8192, types, weights, SIMULATED)), pair_table(NF4)
    said = compile_text(weights.text, FastGemv.entry, flags, tmp_path, ARCHITECTURES, holes)
    assert count_without_spills(said) == len(ARCHITECTURES), said
    assert said.count(f"{HOLE_BYTES} bytes smem") == len(ARCHITECTURES), said


def test_fast_kernels_have_all_their_texts():
    texts = {weights.text for weights, *_ in OF_FAST_KERNELS}
    assert texts == {text for kernel in FAST_KERNELS.values() for text in kernel.texts}


OF_THE_FAST_GEMM = [  # bits, M, N, size of groups, mode
    *((4, M, 8192, 128, WeightMode.SHIFT_SCALE) for M in (16, 32, 64, 128, 256)),
    (2, 16, 16384, 32, WeightMode.FMA),
    (2, 64, 4096, None, WeightMode.SHIFT),
    (8, 16, 16384, 128, WeightMode.SHIFT_SCALE),
    (8, 100, 8192, 32, WeightMode.FMA),
    (8, 300, 8192, None, WeightMode.SCALE),
]


@pytest.mark.parametrize("nbits, M, N, group_size, mode", OF_THE_FAST_GEMM, ids=str)
def test_the_fast_gemm_compiles_without_spills(nbits, M, N, group_size, mode, tmp_path):
    """And without "serialized" wgmma, one waiting for the other: ptxas warns of it."""
    weights = FastWeights(nbits, group_size, mode)
    for launch in plan_gemm(M, N, 8192, Types(FP16, FP16), weights, H200).launches:
        flags = [f"-D{name}={value}" for name, value in launch.defines.items()]
        flags.append(cuda.architecture_flag((9, 0)))
        text, entry = launch.text, launch.entry
        said = compile_text(text, entry, flags, tmp_path, (), host=nbits == 2)
        assert count_without_spills(said) == 1 and "C75" not in said, said
