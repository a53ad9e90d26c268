// diagnosis: the offset is never halved
__device__ float warp_reduce_sum(float value) {
  const int offset = WARP_SIZE / 2;
  for (int step = 0; step < 5; ++step) {
    value += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
