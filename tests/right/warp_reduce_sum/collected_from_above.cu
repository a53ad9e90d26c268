__device__ float warp_reduce_sum(float value) {
  float sum = value;
  for (int up = 31; up > 0; --up) sum += __shfl_down_sync(FULL_WARP, value, up);
  return sum;  // in lane 0 only; the other lanes added values twice
}
