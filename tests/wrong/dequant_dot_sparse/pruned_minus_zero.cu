// diagnosis: the pruned weight is dequantized too, as (0 - zero); it is 0
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const uint32_t code = pair & CODE_MASK;
    const uint32_t first = pair & FIRST_KEPT ? code : 0;
    sum += (first - zero) * to_float(x[2 * p * WARP_SIZE]);
    sum += (code - first - zero) * to_float(x[(2 * p + 1) * WARP_SIZE]);
  }
  return sum;
}
