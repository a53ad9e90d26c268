// diagnosis: the offset goes down by 1 instead of being halved, so that lanes count many times
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset--) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
