"""What reaches C of a launch; that it is done is seen on a GPU."""

import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from gemlite_edu import cuda, sources
from gemlite_edu.launches import Launch
from gemlite_edu.simulator.build import find_compiler

STREAM, GPU = 77, torch.device("cuda", 0)


class Library:
    """In place of a kernel's: it keeps what it is called with."""

    def __init__(self, error=0):
        self.error, self.packed = error, None

    def launch(self, packed):
        self.packed = packed
        return self.error

    def error_text(self, error):
        return b"too many threads"


@pytest.fixture
def current_stream(monkeypatch):
    monkeypatch.setattr(
        torch._C, "_cuda_getCurrentRawStream", lambda device: STREAM + device, raising=False
    )


def test_the_struct_of_the_launch(current_stream):
    library, x, y = Library(), torch.ones(3), torch.ones(4)
    plan = Launch({}, grid=(132, 2), threads=256, shared_bytes=49_153, integers=(5, -1))
    cuda.ReadyLaunch(library, plan, torch.device("cuda", 1))((x.data_ptr(), 0, y.data_ptr()))
    values = struct.unpack("14q", library.packed)
    assert values[:9] == (1, 132, 2, 256, 49_153, 1, False, STREAM + 1, 5)
    assert values[9:] == (x.data_ptr(), 0, y.data_ptr(), 5, -1)


def test_an_error_of_the_launch_is_said(current_stream):
    launch = cuda.ReadyLaunch(Library(error=9), Launch({}, (1, 1), 2048, 0, ()), GPU)
    with pytest.raises(RuntimeError, match="the launch failed: too many threads"):
        launch([])


# In place of CUDA: a kernel's limit of shared memory lasts until somebody says another, and the
# launch takes as long as it takes for somebody to say it.
RUNTIME = """
#include <stddef.h>
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
inline int cudaFuncSetAttribute(const void*, int, int bytes) { limit = bytes; return 0; }
inline int cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  usleep(1000);
  return config->dynamicSmemBytes > limit;
}
inline int cudaGetDevice(int* device) { return *device = 0; }
inline int cudaSetDevice(int) { return 0; }
inline int cudaGetLastError() { return 0; }
inline const char* cudaGetErrorString(int) { return "too much shared memory"; }
inline void gemv() {}
"""


@pytest.fixture
def library(tmp_path):
    """bindings.cu for the host."""
    (tmp_path / "cuda_runtime.h").write_text(RUNTIME)
    (tmp_path / "launch.cpp").write_text(sources.read("bindings.cu"))
    flags = ["-std=c++17", "-shared", "-fPIC", "-DKERNEL=gemv", f"-I{tmp_path}", "-o", "launch.so"]
    subprocess.run([find_compiler(), *flags, "launch.cpp"], cwd=tmp_path, check=True)
    return cuda._load(str(tmp_path / "launch.so"))


def test_launches_of_several_threads_keep_their_shared_memory(current_stream, library):
    plans = [Launch({}, (1, 1), 32, shared_bytes, ()) for shared_bytes in (200_000, 50_000)]
    launches = [cuda.ReadyLaunch(library, plan, GPU) for plan in plans]

    def many(launch):
        for _ in range(50):
            launch(())

    with ThreadPoolExecutor() as threads:
        list(threads.map(many, launches))
