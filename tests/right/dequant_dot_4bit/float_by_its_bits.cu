__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    // 2^23 + code: the code fills the lowest bits of the mantissa
    const uint32_t bits = 0x4B000000u | ((word >> (28 - 4 * j)) & 15u);
    float value;
    memcpy(&value, &bits, sizeof value);
    sum += (value - 8388608.0f - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
