"""The arguments of a launch that reach C; only a GPU can show that the launch happens."""

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners import cuda
from gemlite_edu.runners.simulator.compilers import find_compiler

STREAM, GPU = 77, torch.device("cuda", 0)


@pytest.fixture
def current_stream(monkeypatch):
    monkeypatch.setattr(
        torch._C, "_cuda_getCurrentRawStream", lambda device: STREAM + device, raising=False
    )


# In place of CUDA: a kernel's limit of shared memory lasts until somebody says another, and the
# launch takes as long as it takes for somebody to say it. A launch is a line in a file.
RUNTIME = """
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
typedef int cudaError_t;
typedef void* cudaStream_t;
enum { cudaSuccess, cudaErrorInvalidValue };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaLaunchAttributeClusterDimension, cudaLaunchAttributeProgrammaticStreamSerialization };
struct dim3 { unsigned x, y, z; dim3(unsigned x = 1, unsigned y = 1) : x(x), y(y), z(1) {} };
struct cudaLaunchAttribute {
  int id;
  struct { dim3 clusterDim; int programmaticStreamSerializationAllowed; } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
static volatile size_t limit;
extern "C" { int device = 0; }
inline int cudaFuncSetAttribute(const void*, int, int bytes) { limit = bytes; return 0; }
inline int cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void** arguments) {
  usleep(1000);
  if (config->dynamicSmemBytes > limit) return 1;
  if (config->blockDim.x > 1024) return 9;
  const dim3 grid = config->gridDim;
  FILE* file = fopen(LAUNCHES, "a");
  fprintf(file, "%s on %d (%u, %u) x %u, ", NAME, device, grid.x, grid.y, config->blockDim.x);
  fprintf(file, "%zu bytes, ", limit);
  fprintf(file, "stream %zu, %u attributes:", (size_t)config->stream, config->numAttrs);
  for (int i = 0; i < POINTERS; ++i) fprintf(file, " %zu", *(size_t*)arguments[i]);
  fprintf(file, " %d %d\\n", *(int*)arguments[POINTERS], *(int*)arguments[POINTERS + 1]);
  return fclose(file);
}
inline int cudaGetDevice(int* current) { *current = device; return 0; }
inline int cudaSetDevice(int next) { device = next; return 0; }
inline int cudaGetLastError() { return 0; }
inline const char* cudaGetErrorString(int error) {
  return error == 9 ? "too many threads" : "too much shared memory";
}
inline void gemv(PARAMETERS int, int) {}
"""


@pytest.fixture
def library_of(tmp_path):
    """bindings.cu for the host, of a kernel of that name and so many tensors; text: its own."""

    def compiled(name, pointers, text=""):
        folder = tmp_path / name
        folder.mkdir()
        defines = f"""
#define LAUNCHES "{tmp_path}/launches"
#define NAME "{name}"
#define POINTERS {pointers}
#define PARAMETERS {"const float*, " * pointers}
"""
        (folder / "cuda_runtime.h").write_text(defines + RUNTIME)
        (folder / "launch.cpp").write_text(text + sources.read("bindings.cu"))
        flags = ["-std=c++17", "-shared", "-fPIC", "-DKERNEL=gemv", f"-I{folder}"]
        command = [find_compiler(), *flags, "-o", "launch.so", "launch.cpp"]
        subprocess.run(command, cwd=folder, check=True)
        return cuda._load(str(folder / "launch.so"))

    return compiled


@pytest.fixture
def launches(tmp_path):
    """The lines about the launches so far."""
    path = tmp_path / "launches"
    return lambda: path.read_text().splitlines() if path.exists() else []


def test_what_a_launch_is_given(current_stream, library_of, launches):
    plan = Launch(grid=(132, 2), threads=256, shared_bytes=49_153, integers=(5, -1))
    library = library_of("gemv", 3)
    cuda.ReadyLaunch(library, plan, torch.device("cuda", 1))((1 << 40, 0, 30))
    text = "gemv on 1 (132, 2) x 256, 49153 bytes, stream 78, 0 attributes: 1099511627776 0 30 5 -1"
    assert launches() == [text]
    assert ctypes.c_int.in_dll(library, "device").value == 0, "the current device is another one"


def test_two_launches_in_a_call_share_the_tensor_between_them(current_stream, library_of, launches):
    plans = [
        Launch((8, 1), 128, 0, (2, 3), starts_early=True),
        Launch((4, 1), 64, 70_000, (6, 7), cluster=4, starts_early=True),
    ]
    first = cuda.ReadyLaunch(library_of("arrange", 2), plans[0], GPU)
    both = cuda.ReadyLaunch(library_of("product", 3), plans[1], GPU, behind=first)
    for x in (10, 11):
        both((x, 20, 30, 40))
    assert launches() == [
        "arrange on 0 (8, 1) x 128, 0 bytes, stream 77, 1 attributes: 10 20 2 3",
        "product on 0 (4, 1) x 64, 70000 bytes, stream 77, 2 attributes: 20 30 40 6 7",
        "arrange on 0 (8, 1) x 128, 0 bytes, stream 77, 1 attributes: 11 20 2 3",
        "product on 0 (4, 1) x 64, 70000 bytes, stream 77, 2 attributes: 20 30 40 6 7",
    ]


MAPPED = """
#include <stdint.h>
#define MAPPED_PARAMETER 1
struct CUtensorMap { int64_t of; };
inline int map_parameter(CUtensorMap& map, int64_t x, const int64_t* sizes) {
  if (x % 16) return 9;
  map.of = x * 1000 + sizes[0];
  return 0;
}
"""


def test_a_kernel_gets_a_map_of_the_tensor_that_its_text_maps(current_stream, library_of, launches):
    mapped = cuda.ReadyLaunch(library_of("gemv", 3, MAPPED), Launch((1, 1), 32, 0, (5, 6)), GPU)
    mapped((48, 32, 64))
    assert launches() == [
        "gemv on 0 (1, 1) x 32, 0 bytes, stream 77, 0 attributes: 48 32005 64 5 6"
    ]
    with pytest.raises(RuntimeError, match="the launch failed"):
        mapped((48, 33, 64))
    assert len(launches()) == 1


@pytest.mark.parametrize("threads, before", [((2048, 32), 0), ((32, 2048), 1)])
def test_an_error_of_either_launch_is_said_and_ends_the_call(
    current_stream, library_of, launches, threads, before
):
    plans = [Launch((1, 1), count, 0, (0, 0)) for count in threads]
    first = cuda.ReadyLaunch(library_of("arrange", 2), plans[0], GPU)
    both = cuda.ReadyLaunch(library_of("product", 2), plans[1], GPU, behind=first)
    blocks = "blocks of {} threads and 0 bytes of shared memory, then of {} threads".format(
        *threads
    )
    with pytest.raises(
        RuntimeError, match=rf"the launch failed: too many threads \({blocks} and 0"
    ):
        both((1, 2, 3))
    assert len(launches()) == before


def test_launches_of_several_threads_keep_their_shared_memory(current_stream, library_of):
    library = library_of("gemv", 0)
    plans = [Launch((1, 1), 32, shared_bytes, (0, 0)) for shared_bytes in (200_000, 50_000)]
    launches = [cuda.ReadyLaunch(library, plan, GPU) for plan in plans]

    def many(launch):
        for _ in range(50):
            launch(())

    with ThreadPoolExecutor() as threads:
        list(threads.map(many, launches))
