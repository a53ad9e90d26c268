// diagnosis: 'W_NBITS' was not declared in this scope
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (32 - W_NBITS * (p + 1));
    const float code = pair & CODE_MASK;
    const int kept = pair & FIRST_KEPT ? 2 * p : 2 * p + 1;
    sum += (code - zero) * to_float(x[kept * WARP_SIZE]);
  }
  return sum;
}
