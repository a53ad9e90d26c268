// diagnosis: waits for ever at a shuffle or vote that lane
__device__ float warp_reduce_sum(float value) {
  if (threadIdx.x % 32 == 0) {
    for (int lane = 1; lane < 32; ++lane) value += __shfl_sync(FULL_WARP, value, lane);
  }
  return value;
}
