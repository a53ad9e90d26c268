// diagnosis: each step adds lane 0's own value again: values must travel down, to lower lanes
__device__ float warp_reduce_sum(float value) {
  for (int offset = 1; offset < WARP_SIZE; offset *= 2) {
    value += __shfl_up_sync(FULL_WARP, value, offset);
  }
  return value;
}
