// diagnosis: 2^(e - 1) is written with ^, which is XOR in C: write 1 << (e - 1)
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    int code = (word >> (28 - 4 * j)) & 15;
    int e = code >> 1 & 3, m = code & 1;
    float value = e ? (2 ^ (e - 1)) * (1 + m / 2.0f) : m / 2.0f;
    sum += (code & 8 ? -value : value) * to_float(x[j * 32]);
  }
  return sum;
}
