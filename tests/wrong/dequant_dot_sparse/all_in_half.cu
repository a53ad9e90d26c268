// diagnosis: the products and their sum are held in half precision
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  half sum = __float2half(0.0f);
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const float code = pair & CODE_MASK;
    const int kept = pair & FIRST_KEPT ? 2 * p : 2 * p + 1;
    sum = __hadd(sum, __hmul(__float2half(code - zero), x[kept * WARP_SIZE]));
  }
  return __half2float(sum);
}
