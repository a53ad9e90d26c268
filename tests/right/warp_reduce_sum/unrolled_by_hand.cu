__device__ float warp_reduce_sum(float v) {
  v += __shfl_down_sync(FULL_WARP, v, 16);
  v += __shfl_down_sync(FULL_WARP, v, 8);
  v += __shfl_down_sync(FULL_WARP, v, 4);
  v += __shfl_down_sync(FULL_WARP, v, 2);
  return v + __shfl_down_sync(FULL_WARP, v, 1);
}
