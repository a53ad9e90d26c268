"""Every kernel compiles for the GPUs that learners have; no GPU is needed for that."""

import dataclasses
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.fast_weights import FastWeights, SparseWeights, Types
from gemlite_edu.kernels.gemm_fast import plan_gemm
from gemlite_edu.kernels.gemm_mma import plan_mma
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS, FastGemv, plan_gemv
from gemlite_edu.kernels.machine import H200, SIMULATED, Machine
from gemlite_edu.kernels.pair_table import HOLE_BYTES, known_of, pair_table
from gemlite_edu.kernels.ternary import TERNARY_KERNELS, Y_TYPES
from gemlite_edu.kernels.ternary_fast import _SHAPES, FAST_TERNARY, _Cut
from gemlite_edu.numbers.formats import FP8_E4M3, NF4
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.runners import cuda

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

from one_text import in_one_text

try:
    NVCC = cuda.find_nvcc()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)

ARCHITECTURES = (75, 80, 86, 90)
OLDEST_AND_NEWEST = (75, 90)
WITH_WGMMA = "90a"
WITH_HOST_HALF = (90, WITH_WGMMA)  # every text is in one of them, and it is the same in all
PACKED = [name for name, launch in KERNELS.items() if launch.is_packed]
ANY_N, ANY_K = 32, 640
LOOSE_WIDTH = 3  # does not divide 32


class Build(NamedTuple):
    """A text, what is compiled into it, and the architectures that it is compiled for."""

    name: str
    text: str
    entry: str
    defines: tuple
    architectures: tuple

    def __str__(self):
        return self.name

    def in_namespace(self, name):
        """(text, macros) for `in_one_text`, with what launches the kernel.

        C functions of different namespaces are the same function, so these become C++ functions.
        """
        launches = sources.read("bindings.cu").replace('extern "C" ', "")
        return f"{self.text}\n{launches}", dict(self.defines) | {"KERNEL": f"{name}::{self.entry}"}


def build_of(name, kernel, entry, launch, architectures, replace=None):
    text = sources.expand(kernel, replace)
    return Build(name, text, entry, tuple(launch.defines.items()), architectures)


def gemv_build(kernel, architectures, x_dtype=None, M=1, nbits=4, group_size=None):
    nbits = nbits if KERNELS[kernel].takes_nbits else None
    spec = KERNELS[kernel].completed(nbits, x_dtype, group_size)
    name = f"{kernel}-w{nbits}-x {x_dtype}-M{M}-group {group_size}"
    launch = spec.plan(M, ANY_N, ANY_K, SIMULATED).product
    return build_of(name, kernel, "gemv", launch, architectures)


OF_ALL_KERNELS = [gemv_build(kernel, ARCHITECTURES) for kernel in KERNELS]
OF_OTHER_OPTIONS = [
    *(gemv_build(name, OLDEST_AND_NEWEST, group_size=64) for name in PACKED),
    *(
        gemv_build(name, OLDEST_AND_NEWEST, KERNELS[name].x_dtypes[-1], nbits=LOOSE_WIDTH)
        for name in PACKED
    ),
    *(gemv_build(name, OLDEST_AND_NEWEST, nbits=1) for name in PACKED if KERNELS[name].takes_nbits),
]
OF_EIGHT_ROWS = [gemv_build(name, OLDEST_AND_NEWEST, M=8, group_size=40) for name in PACKED]

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


def ternary_builds(kernel, fragment, shape, y_dtype, architectures):
    """Each as it is launched on that architecture, whose blocks have so much shared memory."""
    spec = TERNARY_KERNELS[kernel].completed(y_dtype=y_dtype, fragment=fragment)
    for architecture in architectures:
        machine = SIMULATED._replace(capability=divmod(architecture, 10))
        launch = spec.plan(*shape, 1024, machine).product
        name = f"{kernel}-{fragment}-{shape}-{y_dtype}-sm_{architecture}"
        yield build_of(name, kernel, spec.entry, launch, (architecture,))


def fast_ternary_builds():
    """Every cut, with blocks that share out K and without, and every type of y."""
    (spec,) = FAST_TERNARY.values()
    cuts = [(tokens, *shape) for tokens, shapes in _SHAPES.items() for shape in shapes]
    for i, (cut, splits) in enumerate((cut, splits) for cut in cuts for splits in (1, 4)):
        y_dtype = list(Y_TYPES)[i % len(Y_TYPES)]
        launch = _Cut(*cut, splits).launch(100, 1000, 4096, y_dtype)
        name = f"{spec.name}-{cut}-{splits}-{y_dtype}"
        yield build_of(name, spec.name, spec.entry, launch, (WITH_WGMMA,))


BF16, FP32 = torch.bfloat16, torch.float32
OF_FAST_KERNELS = [  # weights, type of scales and zeros, M, type of x, architectures
    (FastWeights(4, 128), FP32, 1, FP16, ARCHITECTURES),
    *((FastWeights(nbits, 128), FP32, 1, FP16, OLDEST_AND_NEWEST) for nbits in (8, 2, 1)),
    (FastWeights(8, 64), FP32, 8, BF16, OLDEST_AND_NEWEST),
    (FastWeights(4, 128), FP32, 8, FP16, OLDEST_AND_NEWEST),
    (FastWeights(4), FP32, 4, BF16, OLDEST_AND_NEWEST),
    (FastWeights(2, 32), FP32, 2, BF16, OLDEST_AND_NEWEST),
    (FastWeights(1, 128), FP32, 8, FP16, OLDEST_AND_NEWEST),
    *((FastWeights(nbits, 128), FP16, 1, FP16, OLDEST_AND_NEWEST) for nbits in (7, 6, 5, 3)),
    *((FastWeights(nbits, 128), FP32, 8, BF16, (90,)) for nbits in (7, 6, 5, 3)),
    *((FastWeights(nbits, 16), FP16, 8, FP16, (90,)) for nbits in (7, 4)),
    (SparseWeights(), FP16, 1, FP16, ARCHITECTURES),
    (SparseWeights(64), FP16, 8, BF16, OLDEST_AND_NEWEST),
]


def fast_build(weights, scale_dtype, M, x_dtype, architectures, replace=None):
    """As it is launched on an H200, whatever the architecture."""
    if isinstance(weights, FastWeights):
        weights = dataclasses.replace(weights, **known_of(replace or {}, weights.nbits))
    types = Types(x_dtype, x_dtype, scale_dtype, scale_dtype)
    launch = plan_gemv(M, 8192, 8192, types, weights, SIMULATED).product
    name = f"{weights}-{scale_dtype}-M{M}-x {x_dtype}"
    return build_of(name, weights.text, FastGemv.entry, launch, architectures, replace)


OF_A_TABLE = [
    *(
        fast_build(FastWeights(4, 128), FP16, M, FP16, ARCHITECTURES, pair_table(NF4))
        for M in (1, 8)
    ),
    fast_build(FastWeights(8, 128), FP16, 4, FP16, OLDEST_AND_NEWEST, pair_table(FP8_E4M3)),
]

OF_THE_FAST_GEMM = [  # bits, M, N, size of groups, mode
    *((4, M, 8192, 128, WeightMode.SHIFT_SCALE) for M in (16, 32, 64, 128, 256)),
    (2, 16, 16384, 32, WeightMode.FMA),
    (2, 64, 4096, None, WeightMode.SHIFT),
    (2, 1024, 8192, 128, WeightMode.SHIFT_SCALE),
    (4, 1024, 5120, 64, WeightMode.SHIFT_SCALE),
    (8, 16, 16384, 128, WeightMode.SHIFT_SCALE),
    (8, 100, 8192, 32, WeightMode.FMA),
    (8, 300, 8192, None, WeightMode.SCALE),
    (8, 512, 11008, 128, WeightMode.SHIFT_SCALE),
    (4, 512, 11008, 128, WeightMode.SHIFT_SCALE),
    (2, 512, 11008, 128, WeightMode.SHIFT_SCALE),
    (1, 64, 4096, 128, WeightMode.SHIFT_SCALE),
    (3, 16, 16384, 32, WeightMode.SHIFT_SCALE),
    (3, 128, 11008, 32, WeightMode.SHIFT_SCALE),
    (5, 32, 8192, 128, WeightMode.SHIFT_SCALE),
    (6, 256, 8192, None, WeightMode.SCALE),
    (7, 16, 8192, 64, WeightMode.FMA),
]
OF_THE_FAST_GEMM_WITH_A_SPILL = (6, 176, 14336, 64, WeightMode.SHIFT_SCALE)
MOST_BYTES_SPILLED = 92  # stored: docs/kernels.md


def gemm_builds(nbits, M, N, group_size, mode):
    weights = FastWeights(nbits, group_size, mode)
    for launch in plan_gemm(M, N, 8192, Types(FP16, FP16), weights, H200).launches:
        name = f"{launch.text}-w{nbits}-M{M}-N{N}-group {group_size}-{mode.name}"
        yield build_of(name, launch.text, launch.entry, launch, (WITH_WGMMA,))


RTX_4090 = 89
OF_THE_MMA_GEMM = [  # architecture, bits, size of groups, M, type of x
    (80, 4, 128, 64, FP16),
    (80, 8, 64, 64, BF16),
    (80, 7, 128, 64, BF16),
    (80, 2, 32, 33, FP16),
    (86, 4, None, 16, FP16),
    (RTX_4090, 4, 128, 64, FP16),
    (90, 4, 128, 64, BF16),
]


def mma_builds(architecture, nbits, group_size, M, x_dtype):
    machine = Machine(divmod(architecture, 10), 108)
    weights = FastWeights(nbits, group_size, **known_of({}, nbits))
    types = Types(x_dtype, x_dtype, FP16, FP16)
    for launch in plan_mma(M, 4096, 4096, types, weights, machine).launches:
        name = f"{launch.text}-w{nbits}-M{M}-group {group_size}-x {x_dtype}-sm_{architecture}"
        yield build_of(name, launch.text, launch.entry, launch, (architecture,))


BUILDS_OF_TERNARY_WEIGHTS = [b for case in OF_TERNARY_WEIGHTS for b in ternary_builds(*case)]
BUILDS_OF_THE_FAST_TERNARY_GEMM = list(fast_ternary_builds())
BUILDS_OF_FAST_KERNELS = [fast_build(*case) for case in OF_FAST_KERNELS]
BUILDS_OF_THE_FAST_GEMM = [b for case in OF_THE_FAST_GEMM for b in gemm_builds(*case)]
WITH_A_SPILL = [b for b in gemm_builds(*OF_THE_FAST_GEMM_WITH_A_SPILL) if b.entry == "gemm"]
BUILDS_OF_THE_MMA_GEMM = [b for case in OF_THE_MMA_GEMM for b in mma_builds(*case)]
WITHOUT_SPILLS = [
    *OF_ALL_KERNELS,
    *OF_OTHER_OPTIONS,
    *BUILDS_OF_TERNARY_WEIGHTS,
    *BUILDS_OF_THE_FAST_TERNARY_GEMM,
    *BUILDS_OF_FAST_KERNELS,
    *OF_A_TABLE,
    *BUILDS_OF_THE_FAST_GEMM,
    *BUILDS_OF_THE_MMA_GEMM,
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """{(build, architecture): what ptxas says}, from one run of nvcc for each architecture."""
    folder, found = tmp_path_factory.mktemp("nvcc"), {}
    for architecture in (*ARCHITECTURES, RTX_4090, WITH_WGMMA):
        every = (*WITHOUT_SPILLS, *WITH_A_SPILL, *OF_EIGHT_ROWS)
        builds = [build for build in every if architecture in build.architectures]
        of_builds = compiled_together(builds, architecture, folder)
        found |= {(build, architecture): lines for build, lines in of_builds.items()}
    return found


def compiled_together(builds, architecture, folder):
    """{build: the lines in which ptxas names its kernel, each with the lines after it}."""
    names = {f"build_{i}_": build for i, build in enumerate(builds)}
    source = folder / "kernels.cu"
    source.write_text(in_one_text({name: b.in_namespace(name) for name, b in names.items()}))
    host = "-c" if architecture in WITH_HOST_HALF else "-fatbin"
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    command = [NVCC, host, "-O3", "-std=c++17", "-Xptxas=-v", target, source, "-o", folder / "o"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    found, build = defaultdict(str), None
    for line in result.stderr.splitlines(keepends=True):
        named = re.search(r"build_\d+_", line)
        build = names[named[0]] if named else build
        found[build] += line
    return found


@pytest.mark.parametrize("build", WITHOUT_SPILLS, ids=str)
def test_it_compiles_without_spills(build, said):
    for architecture in build.architectures:
        of_build = said[build, architecture]
        assert re.findall(r"(\d+) bytes spill", of_build) == ["0", "0"], of_build


@pytest.mark.parametrize("build", WITH_A_SPILL, ids=str)
def test_it_compiles_with_the_spills_that_its_page_tells(build, said):
    stores, loads = map(int, re.findall(r"(\d+) bytes spill", said[build, WITH_WGMMA]))
    assert 0 < stores <= MOST_BYTES_SPILLED and 0 < loads <= 2 * MOST_BYTES_SPILLED


@pytest.mark.parametrize("build", OF_EIGHT_ROWS, ids=str)
def test_it_compiles_for_eight_rows_and_groups(build, said):
    for architecture in build.architectures:
        assert "bytes spill stores" in said[build, architecture]


@pytest.mark.parametrize("build", OF_A_TABLE, ids=str)
def test_the_shared_memory_of_a_table_fits_what_its_launch_counts(build, said):
    for architecture in build.architectures:
        of_build = said[build, architecture]
        (taken,) = map(int, re.findall(r"(\d+) bytes smem", of_build))
        assert HOLE_BYTES - 1024 < taken <= HOLE_BYTES, of_build


BUILDS_WITH_WGMMA = [*BUILDS_OF_THE_FAST_GEMM, *BUILDS_OF_THE_FAST_TERNARY_GEMM]


@pytest.mark.parametrize("build", BUILDS_WITH_WGMMA, ids=str)
def test_no_wgmma_waits_for_another(build, said):
    """ptxas warns of wgmma that it has "serialized"."""
    of_build = said[build, WITH_WGMMA]
    assert "C75" not in of_build, of_build


def shares_registers(build):
    """True if some of the build's warps take registers that others give: gemm_fast.cuh."""
    of = dict(build.defines)
    if build.entry != "gemm":
        return False
    return of["ROWS"] * of["WARPS_N"] * of["TILES"] * 16 == 32768 or of["TILES"] == 2


@pytest.mark.parametrize("build", filter(shares_registers, BUILDS_OF_THE_FAST_GEMM), ids=str)
def test_a_block_begins_with_the_registers_that_its_warps_share_out(build, said):
    """With fewer, those that take registers would wait for ever."""
    of = dict(build.defines)
    threads = 32 * (of["WARPS_N"] * of["WARPS_K"] + 4)
    (registers,) = map(int, re.findall(r"Used (\d+) registers", said[build, WITH_WGMMA]))
    assert registers == 2**16 // threads // 8 * 8


@pytest.mark.parametrize("build", BUILDS_OF_THE_FAST_TERNARY_GEMM, ids=str)
def test_registers_hold_as_many_blocks_as_a_cut_counts(build, said):
    names = ("TOKENS", "WARPGROUPS", "TILES", "BLOCK_K", "SPLITS")
    cut = _Cut(*(dict(build.defines)[name] for name in names))
    (registers,) = map(int, re.findall(r"Used (\d+) registers", said[build, WITH_WGMMA]))
    of_a_block = -(-registers // 8) * 8 * cut.launch(*[4096] * 3, FP16).threads
    assert cut.at_once * of_a_block <= 2**16


def test_ternary_kernels_have_all_types_of_y():
    assert {y_dtype for *_, y_dtype, _ in OF_TERNARY_WEIGHTS} == set(Y_TYPES)


def test_fast_kernels_have_all_their_texts():
    texts = {weights.text for weights, *_ in OF_FAST_KERNELS}
    assert texts == {text for kernel in FAST_KERNELS.values() for text in kernel.texts}
