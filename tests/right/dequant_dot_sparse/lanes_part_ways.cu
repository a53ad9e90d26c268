__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int p = 0; p < 4; ++p, word <<= 8) {
    const float weight = (word >> 24 & CODE_MASK) - zero;
    if (word >> 31) {
      sum += weight * to_float(x[2 * p * WARP_SIZE]);
    } else {
      sum += weight * to_float(x[2 * p * WARP_SIZE + WARP_SIZE]);
    }
  }
  return sum;
}
