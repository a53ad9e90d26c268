// diagnosis: the bytes of a word are taken in reverse order, the least significant one first
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int byte = 0; byte < 4; ++byte) {
    for (int i = 0; i < 4; ++i) {
      const uint32_t code = (word >> (8 * byte + 6 - 2 * i)) & 3;
      sum += (code - zero) * to_float(x[(4 * byte + i) * WARP_SIZE]);
    }
  }
  return sum;
}
