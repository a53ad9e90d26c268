// diagnosis: value and offset are swapped in the shuffle
__device__ float warp_reduce_sum(float value) {
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_WARP, offset, value);
  }
  return value;
}
