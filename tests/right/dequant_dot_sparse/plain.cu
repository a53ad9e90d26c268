__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = word >> (24 - 8 * p);
    const float code = pair & CODE_MASK;
    const int kept = pair & FIRST_KEPT ? 2 * p : 2 * p + 1;
    sum += (code - zero) * to_float(x[kept * WARP_SIZE]);
  }
  return sum;
}
