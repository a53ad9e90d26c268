// diagnosis: the upper 16 lanes are dropped: the first step must reach 16 lanes up
__device__ float warp_reduce_sum(float value) {
  for (int offset = 8; offset > 0; offset >>= 1)
    value += __shfl_down_sync(FULL_WARP, value, offset);
  return value;
}
