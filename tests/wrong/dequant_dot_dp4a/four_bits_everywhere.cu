// diagnosis: the word is read as eight 4-bit codes, whatever W_NBITS is
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  for (int half = 0; half < 2; ++half) {
    int codes = 0, four_x = 0;
    for (int i = 0; i < 4; ++i) {
      codes |= ((word >> (28 - 4 * (4 * half + i))) & 0xF) << 8 * i;
      four_x |= (x[(4 * half + i) * 32] & 0xFF) << 8 * i;
    }
    dot = __dp4a(four_x, codes, dot);
    sum_x = __dp4a(four_x, 0x01010101, sum_x);
  }
  return dot - zero * sum_x;
}
