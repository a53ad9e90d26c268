__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = (word >> (24 - 8 * p)) & 0xFF;
    const float weight = static_cast<float>(pair & CODE_MASK) - zero;
    const float first = pair & FIRST_KEPT ? weight : 0.0f;
    sum += first * to_float(x[2 * p * WARP_SIZE]);
    sum += (weight - first) * to_float(x[(2 * p + 1) * WARP_SIZE]);
  }
  return sum;
}
