__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint32_t seconds = ~word >> 7 & 0x01010101u, codes = word & 0x7f7f7f7fu;
  float sum = 0.0f;
  for (int p = 3; p >= 0; --p) {
    const int shift = 8 * (3 - p);
    const int j = 2 * p + (seconds >> shift & 1);
    sum += (static_cast<float>(codes >> shift & 0xFF) - zero) * to_float(x[32 * j]);
  }
  return sum;
}
