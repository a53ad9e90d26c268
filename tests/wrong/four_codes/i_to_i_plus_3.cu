// diagnosis: codes i to i + 3 are given; it is 4 i to 4 i + 3
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    const int e = i + j;
    codes |= (word >> (8 * (e % 4) + 2 * (e / 4)) & 3) << (8 * j);
  }
  return codes;
}
