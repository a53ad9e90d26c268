// diagnosis: each step adds lane 0's own value again: values must travel down, to lower lanes
__device__ float warp_reduce_sum(float value) {
  for (int i = 0; i < 5; ++i) {
    value += __shfl_sync(FULL_WARP, value, 0);
  }
  return value;
}
