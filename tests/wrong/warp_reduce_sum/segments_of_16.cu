// diagnosis: It is none of the mistakes known here
__device__ float warp_reduce_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, value, offset, 16);
  }
  return value;
}
