__device__ float warp_reduce_sum(float value) {
  for (int mask = 1; mask < WARP_SIZE; mask <<= 1) {
    value += __shfl_xor_sync(FULL_WARP, value, mask);
  }
  return value;
}
