// diagnosis: the shuffle names lane `offset` itself, not the lane `offset` further up
__device__ float warp_reduce_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_sync(FULL_WARP, value, offset);
  }
  return value;
}
