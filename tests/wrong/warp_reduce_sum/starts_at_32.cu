// diagnosis: the first offset is 32, and nothing is 32 lanes up: a lane adds its own value
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
