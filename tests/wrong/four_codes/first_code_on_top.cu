// diagnosis: code e is taken at bit 30 - 2 e, as if the first code were in the highest bits
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    const int e = 4 * i + j;
    codes |= (word >> (30 - 2 * e) & 3) << (8 * j);
  }
  return codes;
}
