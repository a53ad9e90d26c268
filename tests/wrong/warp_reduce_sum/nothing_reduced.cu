// diagnosis: nothing is reduced: lane 0 writes its own partial sum
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    __shfl_down_sync(FULL_WARP, value, offset);
  }
  return value;
}
