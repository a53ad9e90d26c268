// diagnosis: reached memory that is neither
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t shift = 32 - W_NBITS * (j + 1);
    sum += (((word >> shift) & CODE_MASK) - zero) * to_float(x[word >> shift]);
  }
  return sum;
}
