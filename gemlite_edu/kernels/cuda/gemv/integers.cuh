// 8-bit integer activations in, exact int32 arithmetic, int32 results out.
#pragma once
#include <stdint.h>

#include "warp.cuh"

using SUM_T = int;
using Y_T = int;

// Names in scope: WARP_SIZE, FULL_WARP.
// BEGIN HOLE warp_reduce_sum
// Sum of `value` over the 32 lanes; lane 0 holds it, the other lanes hold partial sums.
__device__ int warp_reduce_sum(int value) {
  #pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
// END HOLE
