// diagnosis: takes part in a warp operation whose mask 0x1 does not name it
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(1, value, offset);
  }
  return value;
}
