__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint16_t halves[2] = {static_cast<uint16_t>(word >> 16), static_cast<uint16_t>(word)};
  float sums[2] = {0.0f, 0.0f};
  for (int h = 0; h < 2; ++h) {
    for (int j = 0; j < 4; ++j) {
      const float w = (halves[h] >> (12 - 4 * j) & 0xF) - zero;
      sums[h] += w * to_float(x[(4 * h + j) * WARP_SIZE]);
    }
  }
  return sums[0] + sums[1];
}
