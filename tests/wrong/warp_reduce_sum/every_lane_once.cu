// diagnosis: the offsets 1 to 31 are all taken, so that lanes count many times
__device__ float warp_reduce_sum(float value) {
  // add the values of all the other lanes
  for (int i = 1; i < WARP_SIZE; i++) {
    value += __shfl_down_sync(FULL_WARP, value, i);
  }
  return value;
}
