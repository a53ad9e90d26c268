// diagnosis: each step shuffles the lane's first value, not its running sum
__device__ float warp_reduce_sum(float value) {
  float sum = value;
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(FULL_WARP, value, offset);
  }
  return sum;
}
