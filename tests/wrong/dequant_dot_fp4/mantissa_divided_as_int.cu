// diagnosis: m / 2 is a division of integers, which drops the half: write 0.5f * m
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    int code = (word >> (28 - 4 * j)) & 15;
    int e = code >> 1 & 3, m = code & 1;
    float value = e ? (1 << (e - 1)) * (1 + m / 2) : m / 2;
    sum += (code & 8 ? -value : value) * to_float(x[j * 32]);
  }
  return sum;
}
