__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_up_sync(FULL_WARP, value, offset);
  }
  return __shfl_sync(FULL_WARP, value, WARP_SIZE - 1);
}
