// diagnosis: only the first half of the codes of each word is used
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint16_t half_word = word >> 16;
  float sum = 0.0f;
  for (int j = 0; j < 4; ++j) {
    sum += ((half_word >> (12 - 4 * j) & 0xF) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
