// diagnosis: which ended without it; is the shuffle inside an if?
__device__ float warp_reduce_sum(float value) {
  if (threadIdx.x % 32 == 0) {
    for (int lane = 1; lane < 32; ++lane) value += __shfl_sync(FULL_WARP, value, lane);
  }
  return value;
}
