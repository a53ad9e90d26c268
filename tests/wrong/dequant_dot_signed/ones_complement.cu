// diagnosis: 15 is subtracted from codes 8 to 15; it is 16
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (word >> (28 - 4 * j)) & 0xF;
    const int w = code & 8 ? -(~code & 0xF) : code;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
