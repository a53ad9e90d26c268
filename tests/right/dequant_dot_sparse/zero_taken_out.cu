__device__ float x_of(uint32_t word, int p, const X_T* x) {
  const bool first = word >> (31 - 8 * p) & 1;
  return to_float(x[(2 * p + !first) * WARP_SIZE]);
}

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f, sum_x = 0.0f;
  for (int p = 0; p < PACK_FACTOR / 2; ++p) {
    const float met = x_of(word, p, x);
    sum += static_cast<float>(word >> (24 - 8 * p) & CODE_MASK) * met;
    sum_x += met;
  }
  return sum - zero * sum_x;
}
