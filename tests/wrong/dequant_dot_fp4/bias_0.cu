// diagnosis: the exponent is one too large: its bias is 1
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const int exponent = (code >> 1) & 3, mantissa = code & 1;
    float w = exponent == 0 ? mantissa : (1 + mantissa / 2.0f) * (1 << exponent);
    if (code & 8) w = -w;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
