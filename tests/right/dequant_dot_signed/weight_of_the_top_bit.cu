__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float low_bits = 0.0f, top_bits = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const uint32_t code = word >> (28 - 4 * j);
    low_bits += (code & 7) * to_float(x[j * WARP_SIZE]);
    top_bits += (code >> 3 & 1) * to_float(x[j * WARP_SIZE]);
  }
  return low_bits - 8 * top_bits;
}
