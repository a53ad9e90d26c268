// diagnosis: dequant_dot, line 6
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const uint32_t code = (word >> (28 - 4 * j)) & 0xF
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
