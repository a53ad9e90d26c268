// diagnosis: the zero-point is taken to be the middle code
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int w = int(word >> (28 - 4 * j) & 15) - 8;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
