// diagnosis: the largest partial sum is taken instead of the sum
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value = max(value, __shfl_down_sync(FULL_WARP, value, offset));
  }
  return value;
}
