__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; j += 4) {
    uint32_t bytes = 0, xs = 0;
    #pragma unroll
    for (int i = 3; i >= 0; --i) {
      bytes <<= 8;
      xs <<= 8;
      if (j + i < CODES_PER_GROUP) {
        const int value = x[(j + i) * WARP_SIZE];
        sum_x += value;
        xs += static_cast<unsigned char>(value);
        const int code = word >> (32 - W_NBITS * (j + i + 1)) & CODE_MASK;
        bytes += static_cast<unsigned char>(W_NBITS == 8 ? code - 128 : code);
      }
    }
    dot = __dp4a(static_cast<int>(bytes), static_cast<int>(xs), dot);
  }
  return dot - zero * sum_x + (W_NBITS == 8 ? 128 * sum_x : 0);
}
