__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  uint32_t dot = 0, sum_x = 0, sum_codes = 0;
  for (int first = 0; first < PACK_FACTOR; first += 4) {
    uint32_t codes = 0, four_x = 0;
    for (int i = 0; i < 4 && first + i < PACK_FACTOR; ++i) {
      const int j = first + i;
      const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
      codes |= code << (8 * i);
      four_x |= static_cast<uint32_t>(x[j * WARP_SIZE] + 128) << (8 * i);
    }
    dot = __dp4a(four_x, codes, dot);
    sum_x = __dp4a(four_x, 0x01010101u, sum_x);
    sum_codes = __dp4a(codes, 0x01010101u, sum_codes);
  }
  const int dot_of_x = static_cast<int>(dot) - 128 * static_cast<int>(sum_codes);
  return dot_of_x - zero * (static_cast<int>(sum_x) - 128 * PACK_FACTOR);
}
