__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int e = 4 * i + 3; e >= 4 * i; --e) {
    const int bit = 8 * (e % 4) + 2 * (e / 4);
    codes = codes << 8 | (word >> bit & 3);
  }
  return codes;
}
