// diagnosis: the value that a shuffle brings is put in an integer, which cuts off the fraction
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    int other = __shfl_down_sync(FULL_WARP, value, offset);
    value += other;
  }
  return value;
}
