// diagnosis: only the first step, offset 16, is taken
__device__ float warp_reduce_sum(float value) {
  value += __shfl_down_sync(FULL_WARP, value, WARP_SIZE / 2);
  return value;
}
