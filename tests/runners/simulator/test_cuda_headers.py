"""One text with WMMA and asynchronous copies: right in the simulator, accepted by nvcc as it is."""

import subprocess

import pytest
import torch

from gemlite_edu.runners import cuda

TEXT = """#include <cuda_pipeline.h>
#include <mma.h>
namespace wmma = nvcuda::wmma;

// y = sum of A[i] Bᵀ over n tiles of 16 x 16, each copied while the one before is multiplied.
__global__ void kernel(const signed char* A, const signed char* B, int* y, int n) {
  __shared__ __align__(128) signed char tile[2][256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
  wmma::fill_fragment(c, 0);
  wmma::load_matrix_sync(b, B, 16);
  const int mine = 8 * threadIdx.x;
  __pipeline_memcpy_async(tile[0] + mine, A + mine, 8);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) __pipeline_memcpy_async(tile[(i + 1) % 2] + mine, A + 256 * (i + 1) + mine, 8);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    wmma::load_matrix_sync(a, tile[i % 2], 16);
    wmma::mma_sync(c, a, b, c);
    __syncwarp();
  }
  wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}
"""


def test_the_simulator_runs_it(launch):
    generator = torch.Generator().manual_seed(0)
    A = torch.randint(-128, 128, (5, 16, 16), generator=generator, dtype=torch.int8)
    B = torch.randint(-128, 128, (16, 16), generator=generator, dtype=torch.int8)
    y = launch(TEXT, {"y": torch.zeros(16, 16, dtype=torch.int32)}, {"A": A, "B": B}, [5])
    assert y.tolist() == (A.int() @ B.T.int()).sum(0).tolist()


@pytest.mark.parametrize("architecture", [75, 90])
def test_nvcc_compiles_it(architecture, tmp_path):
    try:
        nvcc = cuda.find_nvcc()
    except RuntimeError as error:
        pytest.skip(str(error))
    source = tmp_path / "kernel.cu"
    source.write_text(TEXT)
    flags = ["-std=c++17", f"-arch=sm_{architecture}", "-c", "-o", tmp_path / "o"]
    result = subprocess.run([nvcc, *flags, source], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
