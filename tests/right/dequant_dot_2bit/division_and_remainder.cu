__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  uint32_t rest = word / (1u << (32 - W_NBITS * PACK_FACTOR));
  for (int j = PACK_FACTOR; j > 0; --j) {
    const uint32_t code = rest % (CODE_MASK + 1);
    rest /= CODE_MASK + 1;
    sum -= (zero - code) * to_float(x[(j - 1) * WARP_SIZE]);
  }
  return sum;
}
