__device__ float fp4(uint32_t code) {
  const int exponent = code >> 1 & 3, mantissa = code & 1;
  const float magnitude =
      exponent == 0 ? 0.5f * mantissa : (1 << (exponent - 1)) * (1.0f + 0.5f * mantissa);
  return code & 8 ? -magnitude : magnitude;
}

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) sum += fp4(word >> (28 - 4 * j)) * to_float(x[j * WARP_SIZE]);
  return sum;
}
