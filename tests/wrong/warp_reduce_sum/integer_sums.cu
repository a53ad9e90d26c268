// diagnosis: the sums are held in integers, which cut off the fraction
__device__ float warp_reduce_sum(float value) {
  int sum = value;
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(FULL_WARP, sum, offset);
  }
  return sum;
}
