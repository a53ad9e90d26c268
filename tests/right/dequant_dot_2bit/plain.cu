__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 16; ++j) {
    const uint32_t code = (word >> (30 - 2 * j)) & 3;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
