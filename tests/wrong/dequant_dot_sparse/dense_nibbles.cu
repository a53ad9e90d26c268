// diagnosis: the word is read as eight 4-bit codes
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = word >> (28 - 4 * j) & 0xF;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
