// diagnosis: dequant_dot, line 3
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const float magnitudes[8] = [0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f];
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const float magnitude = magnitudes[code & 7];
    sum += (code & 8 ? -magnitude : magnitude) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
