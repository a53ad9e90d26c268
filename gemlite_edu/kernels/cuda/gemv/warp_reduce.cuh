// The last step of a dot product that the lanes of a warp share.
#pragma once
#include "warp.cuh"

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
