// x (M, K) fp16 as wgmma reads it, for gemm_fast.cuh with ROWS >= 32; K a multiple of 64.
//
//   image  (ceil(M / ROWS), K / 16, 2, ROWS, 8)  zeros beyond M
//
// Of 16 neighbours in k, eight pairs, first the even pairs and then the odd ones: so neighbours in
// packed words become neighbours in the registers of a lane. Grid (ROWS * K / 16 / THREADS, row
// blocks); a thread takes 16 k of a row. Behind the image are `flags` flags, which are lowered.
#include "bulk_copies.cuh"
#include "flags.cuh"
#include "tensor_core.cuh"

constexpr int PLANE = 16, THREADS = 128;

__global__ void __launch_bounds__(THREADS) arrange(const half* x, uint4* image, int M, int K,
                                                   int flags) {
  wait_for_kernel_before();
  let_next_kernel_begin();
  const int i = blockIdx.x * THREADS + threadIdx.x, m = i % ROWS, plane = i / ROWS;
  const int row = blockIdx.y * ROWS + m;
  uint4 first = make_uint4(0, 0, 0, 0), second = make_uint4(0, 0, 0, 0);
  if (row < M) {
    const half* from = &x[static_cast<size_t>(row) * K + plane * PLANE];
    first = *reinterpret_cast<const uint4*>(from);
    second = *reinterpret_cast<const uint4*>(from + PLANE / 2);
  }
  const size_t row_pieces = static_cast<size_t>(K / PLANE) * 2 * ROWS;
  lower_flags(reinterpret_cast<int*>(&image[gridDim.y * row_pieces]), flags);
  uint4* to = &image[(static_cast<size_t>(blockIdx.y) * (K / PLANE) + plane) * 2 * ROWS + m];
  to[0] = make_uint4(first.x, first.z, second.x, second.z);
  to[ROWS] = make_uint4(first.y, first.w, second.y, second.w);
}
