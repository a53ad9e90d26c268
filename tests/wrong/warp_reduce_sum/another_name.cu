// diagnosis: the text for warp_reduce_sum must define the function warp_reduce_sum(...)
__device__ float warp_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
