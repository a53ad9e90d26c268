__device__ float warp_reduce_sum(float value) {
  float even = 0.0f, odd = 0.0f;
  for (int lane = 0; lane < WARP_SIZE; lane += 2) {
    even += __shfl_sync(FULL_WARP, value, lane);
    odd += __shfl_sync(FULL_WARP, value, lane + 1);
  }
  return even + odd;
}
