// diagnosis: the codes behind the last whole four of a word are left out
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  for (int f = 0; f < PACK_FACTOR / 4; ++f) {
    int codes = 0, xs = 0;
    for (int i = 0; i < 4; ++i) {
      const int j = 4 * f + i;
      const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
      codes |= (code ^ (W_NBITS == 8 ? 128 : 0)) << 8 * i;
      xs |= (x[j * WARP_SIZE] & 0xFF) << 8 * i;
    }
    dot = __dp4a(xs, codes, dot);
    sum_x = __dp4a(xs, 0x01010101, sum_x);
  }
  return dot + ((W_NBITS == 8 ? 128 : 0) - zero) * sum_x;
}
