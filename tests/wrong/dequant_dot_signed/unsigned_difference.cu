// diagnosis: code - 16 is unsigned, so that it wraps around below 0
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const uint32_t code = (word >> (28 - 4 * j)) & 0xF;
    const float w = code < 8 ? code : code - 16;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
