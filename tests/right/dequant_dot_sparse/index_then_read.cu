__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p) {
    const uint32_t pair = (word >> (24 - 8 * p)) & 0xFF;
    const int j = pair >= 128 ? 2 * p : 2 * p + 1;
    sum += ((pair & 127) - zero) * to_float(x[j * 32]);
  }
  return sum;
}
