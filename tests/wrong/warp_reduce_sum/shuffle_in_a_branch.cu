// diagnosis: which ended without it; is the shuffle inside an if?
__device__ float warp_reduce_sum(float value) {
  const int lane = threadIdx.x % WARP_SIZE;
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    if (lane < offset) {
      value += __shfl_down_sync(FULL_WARP, value, offset);
    }
  }
  return value;
}
