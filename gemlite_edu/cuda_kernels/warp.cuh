// Words shared by all kernels: a warp is 32 lanes that run together.
#pragma once

constexpr int WARP_SIZE = 32;
constexpr int MAX_THREADS_PER_BLOCK = 1024;
constexpr unsigned FULL_WARP = 0xFFFFFFFFu;

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Names in scope: WARP_SIZE, FULL_WARP.
// BEGIN HOLE warp_reduce_sum
// Sum of `value` over the 32 lanes; lane 0 holds it, the other lanes hold partial sums.
__device__ float warp_reduce_sum(float value) {
  #pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
// END HOLE
