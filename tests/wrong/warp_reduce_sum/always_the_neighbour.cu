// diagnosis: the offset stays 1
__device__ float warp_reduce_sum(float value) {
  int active = WARP_SIZE;
  while (active > 1) {
    value += __shfl_down_sync(FULL_WARP, value, 1);
    active /= 2;
  }
  return value;
}
