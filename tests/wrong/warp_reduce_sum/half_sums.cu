// diagnosis: the sums are held in half precision
__device__ float warp_reduce_sum(float value) {
  half sum = __float2half(value);
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) {
    sum = sum + __shfl_down_sync(FULL_WARP, sum, offset);
  }
  return __half2float(sum);
}
