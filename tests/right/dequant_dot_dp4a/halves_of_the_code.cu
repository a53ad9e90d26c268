__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  // 8 bits as 2 * (code / 2) + code % 2: both fit in a signed byte, and no offset is needed
  int high = 0, low = 0, sum_x = 0;
  for (int first = 0; first < PACK_FACTOR; first += 4) {
    int highs = 0, lows = 0, xs = 0;
    for (int j = first; j < min(first + 4, PACK_FACTOR); ++j) {
      const int place = 8 * (j % 4);
      const int code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
      highs |= (code >> 1) << place;
      lows |= (code & 1) << place;
      xs |= (x[j * WARP_SIZE] & 0xFF) << place;
    }
    high = __dp4a(highs, xs, high);
    low = __dp4a(lows, xs, low);
    sum_x = __dp4a(0x01010101, xs, sum_x);
  }
  return 2 * high + low - zero * sum_x;
}
