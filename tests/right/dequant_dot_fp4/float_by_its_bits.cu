__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j, word <<= 4) {
    // sign, exponent and mantissa where a float has them; 2^126 makes up for the other bias
    const uint32_t bits = (word & 0x80000000u) | (word >> 6 & 0x01C00000u);
    float tiny;
    memcpy(&tiny, &bits, 4);
    sum += tiny * ldexpf(1.0f, 126) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
