__device__ float warp_reduce_sum(float value) {
  for (int offset = 4; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(FULL_WARP, value, offset, 8);
  }
  // each group of 8 lanes holds its sum; four groups are left
  return __shfl_sync(FULL_WARP, value, 0) + __shfl_sync(FULL_WARP, value, 8) +
         __shfl_sync(FULL_WARP, value, 16) + __shfl_sync(FULL_WARP, value, 24);
}
