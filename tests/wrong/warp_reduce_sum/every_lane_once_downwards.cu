// diagnosis: the offsets 31 to 1 are all taken, so that lanes count many times
__device__ float warp_reduce_sum(float value) {
  int i = WARP_SIZE;
  while (--i) value += __shfl_down_sync(FULL_WARP, value, i);
  return value;
}
