// diagnosis: zero is subtracted, but this format has no zero-point
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const float table[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    int code = (word >> (28 - 4 * j)) & 15;
    float value = code & 8 ? -table[code & 7] : table[code & 7];
    sum += (value - zero) * to_float(x[j * 32]);
  }
  return sum;
}
