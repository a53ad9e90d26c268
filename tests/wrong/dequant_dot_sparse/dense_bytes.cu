// diagnosis: the word is read as four 8-bit codes, without pairs
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 4; ++j) {
    const uint32_t code = word >> (24 - 8 * j) & 0xFF;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
